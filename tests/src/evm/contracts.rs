//! The contracts of the tests. Each has just what moves money in the ways that readers of a chain get wrong.

use super::{Address, account::keccak, assembly::assemble};

/// The contract of USDT on Ethereum, at which the tests put a token.
pub const USDT: Address =
    address(*b"\xda\xc1\x7f\x95\x8d\x2e\xe5\x23\xa2\x20\x62\x06\x99\x45\x97\xc1\x3d\x83\x1e\xc7");
/// The contract of wrapped ether on Ethereum, at which the tests put a token.
pub const WETH: Address =
    address(*b"\xc0\x2a\xaa\x39\xb2\x23\xfe\x8d\x0a\x0e\x5c\x4f\x27\xea\xd9\x08\x3c\x75\x6c\xc2");

const fn address(bytes: [u8; 20]) -> Address {
    bytes
}

/// A token: balances by holder. `deposit()` and `withdraw(uint256)` change ether into units of the token and back, and log it
/// as wrapped ether does, without a transfer. `addBlackList(address)`, `removeBlackList(address)` and
/// `destroyBlackFunds(address)` log what Tether's token logs, and hinder nobody; `setBalance(address,uint256)` logs nothing.
const TOKEN: &str = "
    0x00 CALLDATALOAD 0xe0 SHR                  ; the function
    DUP1 0xa9059cbb EQ @transfer JUMPI
    DUP1 0xd0e30db0 EQ @deposit JUMPI
    DUP1 0x2e1a7d4d EQ @withdraw JUMPI
    DUP1 0x70a08231 EQ @balance JUMPI
    DUP1 0x0ecb93c0 EQ @freeze JUMPI
    DUP1 0xe4997dc5 EQ @lift JUMPI
    DUP1 0xf3bdc228 EQ @destroy JUMPI
    DUP1 0xe30443bc EQ @set JUMPI
    revert: 0x00 0x00 REVERT

    transfer:
        CALLER SLOAD DUP1 0x24 CALLDATALOAD     ; amount, balance, balance
        DUP1 SWAP1 POP                          ; amount, balance, balance
        SWAP1 LT @revert JUMPI                  ; balance: it is below the amount
        0x24 CALLDATALOAD SWAP1 SUB CALLER SSTORE
        0x04 CALLDATALOAD SLOAD 0x24 CALLDATALOAD ADD 0x04 CALLDATALOAD SSTORE
        0x24 CALLDATALOAD 0x00 MSTORE
        0x04 CALLDATALOAD CALLER
        0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef
        0x20 0x00 LOG3
        0x01 0x00 MSTORE 0x20 0x00 RETURN

    deposit:
        CALLER SLOAD CALLVALUE ADD CALLER SSTORE
        CALLVALUE 0x00 MSTORE
        CALLER 0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c
        0x20 0x00 LOG2 STOP

    withdraw:
        CALLER SLOAD DUP1 0x04 CALLDATALOAD SWAP1 LT @revert JUMPI
        0x04 CALLDATALOAD SWAP1 SUB CALLER SSTORE
        0x04 CALLDATALOAD 0x00 MSTORE
        CALLER 0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65
        0x20 0x00 LOG2
        0x00 0x00 0x00 0x00 0x04 CALLDATALOAD CALLER GAS CALL POP STOP

    balance: 0x04 CALLDATALOAD SLOAD 0x00 MSTORE 0x20 0x00 RETURN

    freeze:
        0x04 CALLDATALOAD 0x00 MSTORE
        0x42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc 0x20 0x00 LOG1 STOP

    lift:
        0x04 CALLDATALOAD 0x00 MSTORE
        0xd7e9ec6e6ecd65492dce6bf513cd6867560d49544421d0783ddf06e76c24470c 0x20 0x00 LOG1 STOP

    destroy:
        0x04 CALLDATALOAD 0x00 MSTORE
        0x04 CALLDATALOAD SLOAD 0x20 MSTORE
        0x00 0x04 CALLDATALOAD SSTORE
        0x61e6e66b0d6339b2980aecc6ccc0039736791f0ccde9ed512e789a7fbdd698c6 0x40 0x00 LOG1 STOP

    set: 0x24 CALLDATALOAD 0x04 CALLDATALOAD SSTORE STOP
";

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
    [
        (USDT, TOKEN),
        (WETH, TOKEN),
        (SPLITTER_AT, SPLITTER),
        (PROXY_AT, PROXY),
        (FAILING_AT, FAILING),
        (FACTORY_AT, FACTORY),
    ]
    .map(|(at, source)| (at, assemble(source)))
    .to_vec()
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

/// The input of a function with arguments of one word each.
#[must_use]
pub fn call(signature: &str, arguments: &[[u8; 32]]) -> Vec<u8> {
    let selector = &keccak(signature.as_bytes())[..4];
    [selector, &arguments.concat()].concat()
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
