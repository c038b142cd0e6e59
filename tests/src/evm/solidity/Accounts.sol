pragma solidity 0.8.37;

/// An operation of a smart account.
struct Operation {
    SmartAccount sender;
    address to;
    uint256 value;
    bytes data;
    /// The fee that the account's deposit pays.
    uint256 fee;
}

/// Deposits of smart accounts and the execution of their operations, with the events of ERC-4337. It checks no
/// signatures: everybody may have every account act.
contract EntryPoint {
    event Deposited(address indexed account, uint256 totalDeposit);
    event Withdrawn(address indexed account, address withdrawAddress, uint256 amount);
    event UserOperationEvent(
        bytes32 indexed userOpHash,
        address indexed sender,
        address indexed paymaster,
        uint256 nonce,
        bool success,
        uint256 actualGasCost,
        uint256 actualGasUsed
    );

    mapping(address => uint256) public balanceOf;
    mapping(address => uint256) public nonces;

    receive() external payable {
        depositTo(msg.sender);
    }

    function depositTo(address account) public payable {
        balanceOf[account] += msg.value;
        emit Deposited(account, balanceOf[account]);
    }

    function withdrawTo(address payable to, uint256 amount) external {
        balanceOf[msg.sender] -= amount;
        emit Withdrawn(msg.sender, to, amount);
        (bool taken, ) = to.call{value: amount}("");
        require(taken, "the ether is not taken");
    }

    function handleOps(Operation[] calldata operations, address payable beneficiary) external {
        uint256 fees;
        for (uint256 index = 0; index < operations.length; index++) {
            Operation calldata operation = operations[index];
            address sender = address(operation.sender);
            balanceOf[sender] -= operation.fee;
            fees += operation.fee;
            bool success = operation.sender.execute(operation.to, operation.value, operation.data);
            bytes32 hash = keccak256(abi.encode(sender, nonces[sender]));
            emit UserOperationEvent(hash, sender, address(0), nonces[sender]++, success, operation.fee, 0);
        }
        if (fees > 0) {
            (bool taken, ) = beneficiary.call{value: fees}("");
            require(taken, "the fees are not taken");
        }
    }
}

/// An account that acts for its owner, whom an entry point may stand in for.
contract SmartAccount {
    event Received(address indexed sender, uint256 value);

    address public immutable owner;
    EntryPoint public immutable entryPoint;

    constructor(address keeper, EntryPoint point) {
        (owner, entryPoint) = (keeper, point);
    }

    receive() external payable {
        emit Received(msg.sender, msg.value);
    }

    function execute(address to, uint256 value, bytes calldata data) external returns (bool success) {
        require(msg.sender == owner || msg.sender == address(entryPoint), "not allowed");
        (success, ) = to.call{value: value}(data);
    }
}
