pragma solidity 0.8.37;

import "./Token.sol";

/// A vault of one token, as ERC-4626 has it: its own units are shares of what it holds.
contract Vault is Erc20 {
    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(
        address indexed sender,
        address indexed receiver,
        address indexed owner,
        uint256 assets,
        uint256 shares
    );

    Erc20 public immutable asset;

    constructor(Erc20 token) {
        asset = token;
    }

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        uint256 held = asset.balanceOf(address(this));
        shares = totalSupply == 0 ? assets : (assets * totalSupply) / held;
        asset.transferFrom(msg.sender, address(this), assets);
        _mint(receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        if (msg.sender != owner) {
            allowance[owner][msg.sender] -= shares;
        }
        assets = (shares * asset.balanceOf(address(this))) / totalSupply;
        _burn(owner, shares);
        asset.transfer(receiver, assets);
        emit Withdraw(msg.sender, receiver, owner, assets, shares);
    }
}
