//! Characters that do not belong in an address but are hard to see: invisible ones and look-alikes.

use super::error::{AddressError, CodePoint};

/// The first white-space, invisible, look-alike or other non-ASCII character of `text`, if any.
pub(super) fn check(text: &str) -> Result<(), AddressError> {
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    for (index, character) in text.chars().enumerate() {
        let (position, code_point) = (index + 1, CodePoint(character));
        if character.is_whitespace() {
            return Err(AddressError::WhiteSpace { position, code_point });
        }
        if is_invisible(character) {
            return Err(AddressError::InvisibleCharacter { position, code_point });
        }
        if !character.is_ascii() {
            return Err(match resembles(character) {
                Some(resembles) => {
                    AddressError::LookAlikeCharacter { position, character, code_point, resembles }
                }
                None => {
                    AddressError::CharacterNotInAlphabet { position, character, alphabet: "ASCII" }
                }
            });
        }
    }
    Ok(())
}

/// Largest number of possible texts for a text with look-alikes.
const MAX_TEXTS: usize = 4096;

/// The texts that the author of `text` may have meant: without white space and invisible characters, and with each
/// look-alike replaced by every character that it resembles, in both cases. Only a checksum can identify the right
/// text. The list is empty if there are more than 4096 texts.
pub(super) fn possible_texts(text: &str) -> Vec<String> {
    let mut possible_texts = vec![String::new()];
    for character in text.chars() {
        if character.is_whitespace() || is_invisible(character) {
            continue;
        }
        let meant = possible_characters(character);
        if possible_texts.len().saturating_mul(meant.len()) > MAX_TEXTS {
            return Vec::new();
        }
        possible_texts = possible_texts
            .iter()
            .flat_map(|start| {
                meant.iter().map(move |character| {
                    let mut reading = start.clone();
                    reading.push(*character);
                    reading
                })
            })
            .collect();
    }
    possible_texts
}

/// The characters that `character` may stand for: the character itself, or the characters that a look-alike resembles.
fn possible_characters(character: char) -> Vec<char> {
    match resembles(character) {
        None => vec![character],
        // The prototypes of Unicode's table stand for several letters and digits.
        Some('l' | 'I' | '1' | 'i') => vec!['l', 'I', '1', 'i', 'L'],
        Some('O' | '0' | 'o') => vec!['O', '0', 'o'],
        Some(plain) if plain.is_ascii_alphabetic() => {
            vec![plain.to_ascii_uppercase(), plain.to_ascii_lowercase()]
        }
        Some(plain) => vec![plain],
    }
}

/// True if a non-ASCII character is invisible, or looks like an ASCII letter or digit.
pub(super) fn is_invisible_or_look_alike(character: char) -> bool {
    !character.is_ascii() && (is_invisible(character) || resembles(character).is_some())
}

/// True for control characters and Unicode's default-ignorable code points, which most programs do not show.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}

/// The letters and digits of a text as people read it: without invisible characters and signs, in upper case, look-alikes
/// as the ASCII characters that they resemble, and digits and letters that look alike (0 and O, 1, I and L, RN and M) as
/// one.
#[must_use]
pub fn letters_as_read(text: &str) -> String {
    let visible = text.chars().filter(|character| !is_invisible(*character));
    let letters = visible.flat_map(|character| {
        let mut read: Vec<char> = if character.is_ascii() {
            vec![character]
        } else {
            skeleton_of(character).filter(char::is_ascii_alphanumeric).collect()
        };
        if read.is_empty() {
            // A letter that resembles nothing makes another word.
            read.push(character);
        }
        read.into_iter().filter(|letter| letter.is_alphanumeric())
    });
    let letters = letters.map(|letter| letter.to_ascii_uppercase());
    let as_one = |letter| match letter {
        '0' => 'O',
        '1' | 'L' => 'I',
        other => other,
    };
    // Unicode's table has these two letters for each character like an M.
    letters.map(as_one).collect::<String>().replace("RN", "M")
}

/// The characters that a character looks like, by Unicode's confusables (UTS 39).
fn skeleton_of(character: char) -> impl Iterator<Item = char> {
    let mut text = [0; 4];
    let skeleton: Vec<char> =
        unicode_security::confusable_detection::skeleton(character.encode_utf8(&mut text))
            .collect();
    skeleton.into_iter()
}

/// The ASCII letter or digit that a non-ASCII character looks like, by Unicode's confusables (UTS 39).
fn resembles(character: char) -> Option<char> {
    if character.is_ascii() {
        return None;
    }
    let mut skeleton = skeleton_of(character);
    match (skeleton.next(), skeleton.next()) {
        (Some(plain), None) if plain.is_ascii_alphanumeric() => Some(plain),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_and_lookalike_characters_are_named_with_their_positions() {
        let cases = [
            ("1A\u{200B}b", "character 3 is invisible (U+200B): remove it"),
            ("\u{FEFF}1Ab", "character 1 is invisible (U+FEFF): remove it"),
            ("1Ab\n", "character 4 is white space (U+000A): remove it"),
            ("1\u{A0}Ab", "character 2 is white space (U+00A0): remove it"),
            ("1\0Ab", "character 2 is invisible (U+0000): remove it"),
            (
                "1Аb",
                "character 2 is `А` (U+0410), which only looks like `A`: do not trust where this text comes from",
            ),
            (
                "1Ａb",
                "character 2 is `Ａ` (U+FF21), which only looks like `A`: do not trust where this text comes from",
            ),
            (
                "bс1",
                "character 2 is `с` (U+0441), which only looks like `c`: do not trust where this text comes from",
            ),
            (
                "1Αb",
                "character 2 is `Α` (U+0391), which only looks like `A`: do not trust where this text comes from",
            ),
            ("1字b", "character 2 is `字`, which is not in the ASCII alphabet"),
        ];
        for (text, message) in cases {
            assert_eq!(check(text).unwrap_err().to_string(), message);
        }
        assert_eq!(check("1Ab"), Ok(()));
    }

    #[test]
    fn a_look_alike_stands_for_every_letter_that_it_resembles() {
        assert_eq!(possible_texts(" 1b\u{200B}c \n"), ["1bc"], "nothing is left to doubt");
        assert_eq!(possible_texts("1А"), ["1A", "1a"], "Cyrillic A");
        assert_eq!(possible_texts("1О"), ["1O", "10", "1o"], "Cyrillic O");
        assert_eq!(possible_texts(&"Н".repeat(13)), Vec::<String>::new(), "too many");
        assert!(
            is_invisible_or_look_alike('Н')
                && is_invisible_or_look_alike('\u{200B}')
                && !is_invisible_or_look_alike('é')
        );
    }
}
