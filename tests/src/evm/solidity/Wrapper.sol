pragma solidity 0.8.37;

import "./Token.sol";

/// Ether as a token. New and destroyed units are logged as WETH9 logs them: without a transfer.
contract Wrapper is Erc20 {
    event Deposit(address indexed account, uint256 amount);
    event Withdrawal(address indexed account, uint256 amount);

    receive() external payable {
        deposit();
    }

    function deposit() public payable {
        balanceOf[msg.sender] += msg.value;
        emit Deposit(msg.sender, msg.value);
    }

    function withdraw(uint256 amount) external {
        balanceOf[msg.sender] -= amount;
        emit Withdrawal(msg.sender, amount);
        (bool paid, ) = msg.sender.call{value: amount}("");
        require(paid, "the ether is not taken");
    }
}
