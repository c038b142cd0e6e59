//! The header of a table whose columns are known.

use assay_input::rows::{column_key, repeated_column};
use csv::StringRecord;

/// Finds the columns of a header by their names, without regard to letter case, white space and punctuation. A column
/// without a name is `None`: programs that export tables add such columns without cells.
///
/// # Errors
///
/// Returns the problem if a column is unknown, repeated or missing.
pub(crate) fn columns<T: Copy + PartialEq>(
    header: &StringRecord,
    known: &[(&str, T)],
    required: &[(&str, T)],
) -> Result<Vec<Option<T>>, String> {
    if let Some((one, other)) = repeated_column(header) {
        return Err(if one == other {
            format!("column `{}` is repeated", shown(one))
        } else {
            format!("columns `{}` and `{}` mean the same: remove one", shown(one), shown(other))
        });
    }
    let mut columns = Vec::with_capacity(header.len());
    for name in header.iter().map(str::trim) {
        let column = find(name, known);
        if column.is_none() && !name.is_empty() {
            return Err(format!("no such column: `{}`", shown(name)));
        }
        columns.push(column);
    }
    match required.iter().find(|(_, required)| !columns.contains(&Some(*required))) {
        Some((missing, _)) => {
            let found: Vec<String> =
                header.iter().filter(|name| !name.trim().is_empty()).map(shown).collect();
            Err(format!("column `{missing}` is missing: the header has {}", found.join(", ")))
        }
        None => Ok(columns),
    }
}

/// The column with a name.
pub(crate) fn find<T: Copy>(name: &str, known: &[(&str, T)]) -> Option<T> {
    let key = column_key(name);
    known.iter().find(|(known, _)| column_key(known) == key).map(|(_, column)| *column)
}

/// The beginning of a name, for a message.
fn shown(name: &str) -> String {
    name.trim().chars().take(64).flat_map(char::escape_debug).collect()
}

/// The problem of a cell under a column without a name; `None` if the cell is blank.
pub(crate) fn problem_of_unnamed(cell: &str) -> Option<String> {
    let is_blank = cell.trim().is_empty();
    (!is_blank).then(|| format!("`{}` stands in a column without a name", shown(cell)))
}
