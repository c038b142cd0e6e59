//! Programs of contracts from their source: one instruction after the other, `name:` for a place and `@name` for its number.
//! Numbers are written in hexadecimal digits with `0x`, and are pushed; what follows `;` in a line is a comment.

use std::collections::HashMap;

/// Instructions without operands, with their codes.
const INSTRUCTIONS: &[(&str, u8)] = &[
    ("STOP", 0x00),
    ("ADD", 0x01),
    ("EQ", 0x14),
    ("CALLVALUE", 0x34),
    ("CALLDATALOAD", 0x35),
    ("CALLDATASIZE", 0x36),
    ("CALLDATACOPY", 0x37),
    ("CODECOPY", 0x39),
    ("POP", 0x50),
    ("JUMP", 0x56),
    ("JUMPI", 0x57),
    ("GAS", 0x5a),
    ("CREATE", 0xf0),
    ("CALL", 0xf1),
    ("RETURN", 0xf3),
    ("DELEGATECALL", 0xf4),
    ("REVERT", 0xfd),
    ("SELFDESTRUCT", 0xff),
];
const JUMPDEST: u8 = 0x5b;
const DUP1: u8 = 0x80;
const PUSH1: u8 = 0x60;
const PUSH2: u8 = 0x61;

/// Translates the source of a program.
///
/// # Panics
///
/// Panics at a word that is no instruction, number or place.
#[must_use]
pub fn assemble(source: &str) -> Vec<u8> {
    let mut code = Vec::new();
    let (mut places, mut references) = (HashMap::new(), Vec::new());
    let words = source
        .lines()
        .flat_map(|line| line.split(';').next().unwrap_or_default().split_whitespace());
    for word in words {
        if let Some(name) = word.strip_suffix(':') {
            places.insert(name, code.len());
            code.push(JUMPDEST);
        } else if let Some(name) = word.strip_prefix('@') {
            code.push(PUSH2);
            references.push((name, code.len()));
            code.extend([0; 2]);
        } else if let Some(digits) = word.strip_prefix("0x") {
            let number = hex::decode(digits).unwrap_or_else(|error| panic!("{word}: {error}"));
            let length = u8::try_from(number.len()).expect("at most 32 bytes");
            code.push(PUSH1 + length - 1);
            code.extend(number);
        } else if let Some(depth) = word.strip_prefix("DUP") {
            code.push(DUP1 - 1 + depth.parse::<u8>().unwrap_or_else(|_| panic!("{word}")));
        } else {
            let found = INSTRUCTIONS.iter().find(|(name, _)| *name == word);
            code.push(found.unwrap_or_else(|| panic!("no instruction: {word}")).1);
        }
    }
    for (name, at) in references {
        let place = places.get(name).unwrap_or_else(|| panic!("no place: {name}"));
        let place = u16::try_from(*place).expect("a short program");
        code[at..at + 2].copy_from_slice(&place.to_be_bytes());
    }
    code
}

#[cfg(test)]
mod tests {
    use super::assemble;

    #[test]
    fn numbers_are_pushed_with_their_length_and_places_with_two_bytes() {
        let code = assemble("0x00 CALLDATALOAD ; the input\n @end JUMPI 0x0102 POP end: STOP");
        assert_eq!(hex::encode(code), "60003561000b576101025".to_owned() + "05b00");
    }
}
