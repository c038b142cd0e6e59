pragma solidity 0.8.37;

import "./Token.sol";

/// A token with the logs of Tether's on Ethereum. Its freezes hinder nobody, and anybody may call what is its issuer's.
contract Dollar is Erc20 {
    event AddedBlackList(address account);
    event RemovedBlackList(address account);
    event DestroyedBlackFunds(address account, uint256 balance);

    function decimals() external pure override returns (uint8) {
        return 6;
    }

    function addBlackList(address account) external {
        emit AddedBlackList(account);
    }

    function removeBlackList(address account) external {
        emit RemovedBlackList(account);
    }

    function destroyBlackFunds(address account) external {
        uint256 balance = balanceOf[account];
        balanceOf[account] = 0;
        emit DestroyedBlackFunds(account, balance);
    }

    /// Sets a balance without a log.
    function setBalance(address account, uint256 amount) external {
        balanceOf[account] = amount;
    }
}
