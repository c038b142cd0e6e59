pragma solidity 0.8.37;

/// Deposits for validators, with the event of Ethereum's deposit contract.
contract ValidatorDeposits {
    event DepositEvent(
        bytes pubkey,
        bytes withdrawal_credentials,
        bytes amount,
        bytes signature,
        bytes index
    );

    uint64 public deposited;

    function deposit(bytes calldata key, bytes calldata credentials, bytes calldata signature) external payable {
        bytes memory amount = abi.encodePacked(uint64(msg.value / 1 gwei));
        emit DepositEvent(key, credentials, amount, signature, abi.encodePacked(deposited++));
    }
}
