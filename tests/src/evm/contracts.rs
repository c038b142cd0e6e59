//! The contracts of the tests. Each has just what moves money in the ways that readers of a chain get wrong.

use super::{Address, assembly::assemble, solidity};

/// The contract of USDT on Ethereum, at which the tests put a token with Tether's logs.
pub const USDT: Address =
    address(*b"\xda\xc1\x7f\x95\x8d\x2e\xe5\x23\xa2\x20\x62\x06\x99\x45\x97\xc1\x3d\x83\x1e\xc7");
/// The contract of wrapped ether on Ethereum, at which the tests put a wrapper.
pub const WETH: Address =
    address(*b"\xc0\x2a\xaa\x39\xb2\x23\xfe\x8d\x0a\x0e\x5c\x4f\x27\xea\xd9\x08\x3c\x75\x6c\xc2");

/// The contract of version 0.7 that executes bundles of ERC-4337, at which the tests put a small one.
pub const ENTRY_POINT: Address =
    address(*b"\0\0\0\0\x71\x72\x7d\xe2\x2e\x5e\x9d\x8b\xaf\x0e\xda\xc6\xf3\x7d\xa0\x32");

/// The contract into which validators of Ethereum deposit, at which the tests put one with its event.
pub const VALIDATOR_DEPOSITS: Address =
    address(*b"\0\0\0\0\x21\x9a\xb5\x40\x35\x6c\xbb\x83\x9c\xbe\x05\x30\x3d\x77\x05\xfa");

const fn address(bytes: [u8; 20]) -> Address {
    bytes
}

/// Pays the parts that its input lists, as pairs of words: receiver and amount. A part that fails is skipped.
const SPLITTER: &str = "
    0x00                                        ; position in the input
    next:
        DUP1 CALLDATASIZE EQ @end JUMPI
        0x00 0x00 0x00 0x00
        DUP5 0x20 ADD CALLDATALOAD DUP6 CALLDATALOAD GAS CALL POP
        0x40 ADD @next JUMP
    end: STOP
";

/// Lets the splitter's code run in its own name.
const PROXY: &str = "
    CALLDATASIZE 0x00 0x00 CALLDATACOPY
    0x00 0x00 CALLDATASIZE 0x00 0x5511000000000000000000000000000000000000 GAS DELEGATECALL POP STOP
";

/// Passes on what it receives, and fails then.
const FAILING: &str = "
    0x00 0x00 0x00 0x00 CALLVALUE 0xbe0e000000000000000000000000000000000000 GAS CALL POP
    0x00 0x00 REVERT
";

/// Creates an account with what it receives.
const FACTORY: &str = "0x00 0x00 CALLVALUE CREATE POP STOP";

/// Destroys itself, and leaves what it has to another account.
const MORTAL: &str = "0xbe0e000000000000000000000000000000000000 SELFDESTRUCT";

/// The first account of contracts: the splitter, which [`PROXY`] names too.
pub const SPLITTER_AT: Address = address(*b"\x55\x11\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
/// The proxy of the splitter.
pub const PROXY_AT: Address = address(*b"\x55\x12\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
/// The contract whose calls fail.
pub const FAILING_AT: Address = address(*b"\x55\x13\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
/// The creator of accounts.
pub const FACTORY_AT: Address = address(*b"\x55\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
/// The account to which [`mortal`] contracts leave their ether, and failing ones pass theirs.
pub const HEIR: Address = address(*b"\xbe\x0e\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");

/// The contracts that are there from the beginning, with their code.
#[must_use]
pub fn deployed() -> Vec<(Address, Vec<u8>)> {
    let assembled =
        [(SPLITTER_AT, SPLITTER), (PROXY_AT, PROXY), (FAILING_AT, FAILING), (FACTORY_AT, FACTORY)]
            .map(|(at, source)| (at, assemble(source)));
    let compiled = [
        (USDT, "Dollar"),
        (WETH, "Wrapper"),
        (ENTRY_POINT, "EntryPoint"),
        (VALIDATOR_DEPOSITS, "ValidatorDeposits"),
    ]
    .map(|(at, name)| (at, solidity::code(name)));
    compiled.into_iter().chain(assembled).collect()
}

/// The input that creates a contract that destroys itself when it is called.
#[must_use]
pub fn mortal() -> Vec<u8> {
    let code = assemble(MORTAL);
    // 11 bytes that return the rest.
    let begin = format!("0x{:02x} DUP1 0x0b 0x00 CODECOPY 0x00 RETURN", code.len());
    [assemble(&begin), code].concat()
}

/// The input of the splitter.
#[must_use]
pub fn parts(parts: &[(Address, u128)]) -> Vec<u8> {
    parts.iter().flat_map(|(to, amount)| [account(to), number(*amount)].concat()).collect()
}

/// An account as a word of a contract's input.
#[must_use]
pub fn account(account: &Address) -> [u8; 32] {
    let mut word = [0; 32];
    word[12..].copy_from_slice(account);
    word
}

/// A number as a word of a contract's input.
#[must_use]
pub fn number(number: u128) -> [u8; 32] {
    let mut word = [0; 32];
    word[16..].copy_from_slice(&number.to_be_bytes());
    word
}
