//! The delimiter of a CSV file, found from its header.

/// Delimiters that programs write, in the order of preference.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Finds the delimiter of a file from its first lines: the one that separates the most names of columns in a line,
/// else the one with the most cells in the first line.
pub(crate) fn find<'a>(
    lines: &(impl Iterator<Item = &'a str> + Clone),
    is_column: &dyn Fn(&str) -> bool,
) -> u8 {
    let columns = |delimiter: u8| {
        let known = |line: &str| cells(line, delimiter).filter(|cell| is_column(cell)).count();
        lines.clone().map(known).max().unwrap_or_default()
    };
    let width =
        |delimiter: u8| lines.clone().next().map_or(0, |line| cells(line, delimiter).count());
    let score = |delimiter: u8| (columns(delimiter), width(delimiter));
    // Of equals, the last one is the greatest.
    DELIMITERS.into_iter().rev().max_by_key(|delimiter| score(*delimiter)).unwrap_or(b',')
}

/// True if the line has a name of a column with any delimiter.
pub(crate) fn has_column(line: &str, is_column: &dyn Fn(&str) -> bool) -> bool {
    DELIMITERS.into_iter().any(|delimiter| cells(line, delimiter).any(is_column))
}

/// The cells of a line without quotes and white space around them.
fn cells(line: &str, delimiter: u8) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let cells = line.split(move |character| {
        quoted ^= character == '"';
        !quoted && character == char::from(delimiter)
    });
    cells.map(|cell| cell.trim().trim_matches('"').trim())
}

/// The delimiter that the line `sep=;` of Excel states.
pub(crate) fn stated(line: &str) -> Option<u8> {
    let line = line.trim_end_matches(['\r', '\n']);
    let line = line.strip_prefix('"').map_or(line, |line| line.trim_end_matches('"'));
    let (name, delimiter) = line.split_at_checked("sep=".len())?;
    match delimiter.as_bytes() {
        [byte] if name.eq_ignore_ascii_case("sep=") => Some(*byte),
        _ => None,
    }
    .filter(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b'"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_columns_decide_then_the_number_of_cells() {
        let is_column = |name: &str| ["address", "chain"].contains(&name);
        let of = |lines: &[&str]| char::from(find(&lines.iter().copied(), &is_column));
        assert_eq!(of(&["chain,address"]), ',');
        assert_eq!(of(&["chain;address;a, b, c, d"]), ';');
        assert_eq!(of(&["\"chain\"\t\"address\"\tx,y,z"]), '\t');
        assert_eq!(of(&["\"a;b;c;d\"|address"]), '|');
        assert_eq!(of(&["Title, of; the, list", "chain;address"]), ';');
        assert_eq!(of(&["a;b;c,d"]), ';');
        assert_eq!(of(&["address"]), ',');
    }

    #[test]
    fn excel_states_a_delimiter() {
        for (line, delimiter) in [("sep=;\n", b';'), ("\"SEP=,\"\r\n", b','), ("sep=\t", b'\t')] {
            assert_eq!(stated(line), Some(delimiter), "{line:?}");
        }
        for line in ["sep=\n", "sep=a", "separate=;", "set=;", "sep=;;"] {
            assert_eq!(stated(line), None, "{line:?}");
        }
    }
}
