//! Comparing names of parties: a score of likeness across spelling, script and order of words.
//!
//! A name is folded to words of plain letters: case and accents are left out, and Cyrillic, Greek, Arabic and Hebrew
//! are transliterated. Words are compared in any order by the edits between them, once as they are and once with
//! letters that transliterations confuse made equal. People remember one word of a name: one that they look up finds the names
//! that have it among others. The comparison helps people who look up a party, and is never part of a risk score.

use std::collections::BTreeSet;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Way in which a name was found.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NameMatch {
    /// The same name but for letter case, accents, punctuation and white space.
    Exact,
    /// The same words in another script or order.
    Transliterated,
    /// A similar name; the score says how similar.
    Fuzzy,
    /// A name with further words: it has each word that was looked up, or one with a letter of difference.
    Words,
}

/// Lowest score of a match: 0 to 100.
pub const LOWEST_SCORE: u8 = 75;

/// Name that is looked up or compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldedName {
    /// The name in lower case without accents and punctuation, in its own script and order.
    plain: String,
    /// Words in Latin letters.
    words: Vec<String>,
    /// The words with confusable letters made equal.
    sounds: Vec<String>,
}

impl FoldedName {
    /// Folds a name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let plain: Vec<String> = words(
            &name.to_lowercase().nfkd().filter(|c| !is_combining_mark(*c)).collect::<String>(),
        );
        let latin: String = plain.join(" ").chars().map(transliterated).collect();
        let words = words(&latin);
        let sounds = words.iter().map(|word| phonetic_key(word)).collect();
        Self { plain: plain.join(" "), words, sounds }
    }

    /// True if the name has no words to compare.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The way in which another name is like this one, with a score from 75 to 100; `None` if they are not alike.
    #[must_use]
    pub fn matches(&self, other: &Self) -> Option<(NameMatch, u8)> {
        if self.is_empty() || other.is_empty() {
            return None;
        }
        if self.plain == other.plain {
            return Some((NameMatch::Exact, 100));
        }
        let set = |words: &[String]| words.iter().cloned().collect::<BTreeSet<String>>();
        if set(&self.words) == set(&other.words) || self.words.concat() == other.words.concat() {
            return Some((NameMatch::Transliterated, 99));
        }
        if set(&self.sounds) == set(&other.sounds) || self.sounds.concat() == other.sounds.concat()
        {
            return Some((NameMatch::Transliterated, 97));
        }
        // A word that is alike in one form only is alike.
        let spelled = name_similarity(&self.words, &other.words);
        let sounded = name_similarity(&self.sounds, &other.sounds);
        let score = (spelled.max(sounded * 0.97) * 96.0).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share between 0 and 1, times 96"
        )]
        let score = score as u8;
        let whole = (score >= LOWEST_SCORE).then_some((NameMatch::Fuzzy, score));
        // Of two equal scores the whole name counts.
        let by_words = self.is_part_of(other).map(|score| (NameMatch::Words, score));
        [by_words, whole].into_iter().flatten().max_by_key(|(_, score)| *score)
    }

    /// The score of a longer name that has each of these words: 89 to 95 if all are the same, else 75 to 81. The larger their
    /// part of the name, the higher it is.
    fn is_part_of(&self, other: &Self) -> Option<u8> {
        if self.words.len() >= other.words.len() {
            return None;
        }
        let mut free: Vec<(&String, &String)> = other.words.iter().zip(&other.sounds).collect();
        let (mut letters, mut is_same) = (0, true);
        for (word, sound) in self.words.iter().zip(&self.sounds) {
            let same =
                free.iter().position(|(spelled, sounded)| *spelled == word || *sounded == sound);
            is_same &= same.is_some();
            let alike = || free.iter().position(|(spelled, _)| differ_by_a_letter(word, spelled));
            let found = same.or_else(alike)?;
            letters += free.remove(found).0.chars().count();
        }
        let all: usize = other.words.iter().map(|word| word.chars().count()).sum();
        let part = u8::try_from(letters * 6 / all.max(1)).unwrap_or_default();
        Some(if is_same { 89 } else { LOWEST_SCORE } + part)
    }
}

/// True if one edit makes a word of the other. In shorter words a letter is much.
fn differ_by_a_letter(one: &str, other: &str) -> bool {
    const SHORTEST: usize = 4;
    let (one_letters, other_letters) = (one.chars().count(), other.chars().count());
    one_letters.max(other_letters) > SHORTEST
        && one_letters.abs_diff(other_letters) <= 1
        && edits(one, other).is_some_and(|edits| edits <= 1)
}

fn letters_of(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn words(text: &str) -> Vec<String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Share of two names' letters that are alike: each word of the shorter name with its best partner, less a
/// part of the letters that are left over.
fn name_similarity(one: &[String], other: &[String]) -> f64 {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let mut free: Vec<&String> = long.iter().collect();
    let (mut weight, mut sum) = (0.0, 0.0);
    for word in short {
        let best = free
            .iter()
            .enumerate()
            .map(|(index, partner)| (index, word_similarity(word, partner)))
            .max_by(|(_, one), (_, other)| one.total_cmp(other));
        let length = letters(word);
        weight += length;
        if let Some((index, share)) = best {
            sum += length * share;
            free.remove(index);
        }
    }
    let left: f64 = free.iter().map(|word| letters(word)).sum();
    // Names may lack a middle name or a patronym, but one word of several is no match.
    let penalty = if short.len() == 1 && long.len() > 1 { 1.0 } else { 0.35 };
    sum / (weight + penalty * left)
}

fn letters(word: &str) -> f64 {
    letters_of(word.chars().count())
}

/// Share of the letters of two words that need no edit.
fn word_similarity(one: &str, other: &str) -> f64 {
    let longest = one.chars().count().max(other.chars().count());
    match edits(one, other) {
        Some(edits) => 1.0 - f64::from(edits) / letters_of(longest.max(1)),
        None => 0.0,
    }
}

/// Number of edits that make one word of another: insertion, deletion, replacement, or exchange of neighbours. `None` for
/// different words one of which has more than 64 letters.
fn edits(one: &str, other: &str) -> Option<u32> {
    if one == other {
        return Some(0);
    }
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().max(other.len()) > 64 {
        return None;
    }
    let mut rows: Vec<Vec<u32>> = vec![(0..).take(other.len() + 1).collect()];
    for (i, a) in one.iter().enumerate() {
        let at = |row: &[u32], column: usize| row.get(column).copied().unwrap_or(u32::MAX / 2);
        let mut row = vec![u32::try_from(i + 1).unwrap_or(u32::MAX / 2)];
        for (j, b) in other.iter().enumerate() {
            let last = rows.get(i).map(Vec::as_slice).unwrap_or_default();
            let mut best =
                (at(last, j) + u32::from(a != b)).min(at(last, j + 1) + 1).min(at(&row, j) + 1);
            let exchanged =
                i > 0 && j > 0 && one.get(i - 1) == Some(b) && other.get(j - 1) == Some(a);
            if exchanged {
                best = best.min(rows.get(i - 1).map_or(u32::MAX, |row| at(row, j - 1) + 1));
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied()
}

/// Phonetic key of a word: letters that transliterations write in several ways are made equal, and doubled letters
/// single.
fn phonetic_key(word: &str) -> String {
    let mut text = word.to_owned();
    for (from, to) in [
        ("shch", "s"),
        ("tch", "c"),
        ("sch", "s"),
        ("kh", "h"),
        ("gh", "g"),
        ("ph", "f"),
        ("sh", "s"),
        ("ch", "c"),
        ("zh", "z"),
        ("dzh", "j"),
        ("dj", "j"),
        ("ts", "c"),
        ("tz", "c"),
        ("th", "t"),
        ("dh", "d"),
        ("ck", "k"),
        ("ks", "x"),
        ("qu", "k"),
        ("q", "k"),
        ("ou", "u"),
        ("oo", "u"),
        ("ee", "i"),
        ("ie", "i"),
        ("iy", "i"),
        ("yi", "i"),
        ("ij", "i"),
        ("ii", "i"),
        ("ya", "a"),
        ("ia", "a"),
        ("ja", "a"),
        ("yu", "u"),
        ("iu", "u"),
        ("ju", "u"),
        ("ye", "e"),
        ("je", "e"),
        ("yo", "o"),
        ("jo", "o"),
        ("w", "v"),
        ("y", "i"),
        ("j", "i"),
        ("'", ""),
    ] {
        if text.contains(from) {
            text = text.replace(from, to);
        }
    }
    let mut letters: Vec<char> = text.chars().collect();
    letters.dedup();
    letters.into_iter().collect()
}

/// A letter in Latin letters; others stay.
fn transliterated(letter: char) -> Transliterated {
    let index = TRANSLITERATIONS.binary_search_by_key(&letter, |(from, _)| *from);
    match index.ok().and_then(|index| TRANSLITERATIONS.get(index)) {
        Some((_, to)) => Transliterated(to, None),
        None => Transliterated("", Some(letter)),
    }
}

/// Latin letters that stand for one letter.
struct Transliterated(&'static str, Option<char>);

impl FromIterator<Transliterated> for String {
    fn from_iter<I: IntoIterator<Item = Transliterated>>(letters: I) -> Self {
        let mut text = Self::new();
        for Transliterated(several, one) in letters {
            text.push_str(several);
            text.extend(one);
        }
        text
    }
}

/// Lowercase letters after compatibility decomposition, sorted.
#[rustfmt::skip]
static TRANSLITERATIONS: &[(char, &str)] = &[
    ('ß', "ss"), ('æ', "ae"), ('ð', "d"), ('ø', "o"), ('þ', "th"), ('đ', "d"), ('ħ', "h"),
    ('ı', "i"), ('ł', "l"), ('ŋ', "n"), ('œ', "oe"), ('ə', "a"), ('α', "a"), ('β', "v"), ('γ', "g"),
    ('δ', "d"), ('ε', "e"), ('ζ', "z"), ('η', "i"), ('θ', "th"), ('ι', "i"), ('κ', "k"), ('λ', "l"),
    ('μ', "m"), ('ν', "n"), ('ξ', "x"), ('ο', "o"), ('π', "p"), ('ρ', "r"), ('ς', "s"), ('σ', "s"),
    ('τ', "t"), ('υ', "y"), ('φ', "f"), ('χ', "ch"), ('ψ', "ps"), ('ω', "o"), ('а', "a"),
    ('б', "b"), ('в', "v"), ('г', "g"), ('д', "d"), ('е', "e"), ('ж', "zh"), ('з', "z"), ('и', "i"),
    ('к', "k"), ('л', "l"), ('м', "m"), ('н', "n"), ('о', "o"), ('п', "p"), ('р', "r"), ('с', "s"),
    ('т', "t"), ('у', "u"), ('ф', "f"), ('х', "kh"), ('ц', "ts"), ('ч', "ch"), ('ш', "sh"),
    ('щ', "shch"), ('ъ', ""), ('ы', "y"), ('ь', ""), ('э', "e"), ('ю', "yu"), ('я', "ya"),
    ('ђ', "dj"), ('є', "e"), ('і', "i"), ('ј', "j"), ('љ', "lj"), ('њ', "nj"), ('ћ', "c"),
    ('џ', "dz"), ('ґ', "g"), ('ғ', "g"), ('қ', "k"), ('ң', "n"), ('ү', "u"), ('ұ', "u"), ('һ', "h"),
    ('ә', "a"), ('ө', "o"), ('א', "a"), ('ב', "b"), ('ג', "g"), ('ד', "d"), ('ה', "h"), ('ו', "v"),
    ('ז', "z"), ('ח', "h"), ('ט', "t"), ('י', "y"), ('ך', "k"), ('כ', "k"), ('ל', "l"), ('ם', "m"),
    ('מ', "m"), ('ן', "n"), ('נ', "n"), ('ס', "s"), ('ע', ""), ('ף', "f"), ('פ', "p"), ('ץ', "ts"),
    ('צ', "ts"), ('ק', "k"), ('ר', "r"), ('ש', "sh"), ('ת', "t"), ('ء', ""), ('ا', "a"), ('ب', "b"),
    ('ة', "a"), ('ت', "t"), ('ث', "th"), ('ج', "j"), ('ح', "h"), ('خ', "kh"), ('د', "d"),
    ('ذ', "dh"), ('ر', "r"), ('ز', "z"), ('س', "s"), ('ش', "sh"), ('ص', "s"), ('ض', "d"),
    ('ط', "t"), ('ظ', "z"), ('ع', ""), ('غ', "gh"), ('ف', "f"), ('ق', "q"), ('ك', "k"), ('ل', "l"),
    ('م', "m"), ('ن', "n"), ('ه', "h"), ('و', "w"), ('ى', "a"), ('ي', "y"), ('پ', "p"), ('چ', "ch"),
    ('ژ', "zh"), ('ک', "k"), ('گ', "g"), ('ی', "y"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(one: &str, other: &str) -> Option<(NameMatch, u8)> {
        FoldedName::new(one).matches(&FoldedName::new(other))
    }

    #[test]
    fn the_table_of_letters_is_sorted() {
        assert!(TRANSLITERATIONS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn names_are_found_over_spelling_script_and_order() {
        assert_eq!(found("doe, jane", "DOE, Jane"), Some((NameMatch::Exact, 100)));
        assert_eq!(found("JOSE GARCIA", "José García"), Some((NameMatch::Exact, 100)));
        assert_eq!(found("Jane Doe", "DOE, Jane"), Some((NameMatch::Transliterated, 99)));
        assert_eq!(found("Иванов", "Ivanov"), Some((NameMatch::Transliterated, 99)));
        assert_eq!(found("Юсупов Хасан", "Khasan Yusupov"), Some((NameMatch::Transliterated, 99)));
        assert_eq!(
            found("Yussupow Hasan", "YUSUPOV, Khasan"),
            Some((NameMatch::Transliterated, 97))
        );
        let (kind, score) = found("Kim Jong Umn", "KIM, Jong Un").unwrap();
        assert_eq!(kind, NameMatch::Fuzzy);
        assert!((80..97).contains(&score), "{score}");
        let (kind, one_word) = found("Jane", "DOE, Jane Quinn").unwrap();
        assert!(kind == NameMatch::Words && (89..96).contains(&one_word), "{one_word}");
        let (kind, misspelt) = found("Quimn", "DOE, Jane Quinn").unwrap();
        assert!(kind == NameMatch::Words && (75..82).contains(&misspelt), "{misspelt}");
        assert_eq!(found("Jame", "DOE, Jane Quinn"), None, "a letter of four is much");
        assert_eq!(found("Jane Smith", "DOE, Jane Quinn"), None, "a word that the name lacks");
        assert_eq!(found("John Smith", "DOE, Jane"), None);
        assert_eq!(found("", "DOE"), None);
        assert_eq!(found("!!!", "!!!"), None);
    }
}
