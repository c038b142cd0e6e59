pragma solidity 0.8.37;

import "./Token.sol";
import "./Wrapper.sol";

/// Two tokens at a price that their amounts set (their product does not fall), and the token of their providers. A caller
/// has paid before: what is there beyond the amounts of before counts as his.
contract Pair is Erc20 {
    event Mint(address indexed sender, uint256 amount0, uint256 amount1);
    event Burn(address indexed sender, uint256 amount0, uint256 amount1, address indexed to);
    event Swap(
        address indexed sender,
        uint256 amount0In,
        uint256 amount1In,
        uint256 amount0Out,
        uint256 amount1Out,
        address indexed to
    );
    event Sync(uint112 reserve0, uint112 reserve1);

    Erc20 public immutable token0;
    Erc20 public immutable token1;
    uint256 public reserve0;
    uint256 public reserve1;

    constructor(Erc20 one, Erc20 other) {
        (token0, token1) = (one, other);
    }

    function mint(address to) external returns (uint256 units) {
        (uint256 balance0, uint256 balance1) = _balances();
        (uint256 added0, uint256 added1) = (balance0 - reserve0, balance1 - reserve1);
        units = totalSupply == 0
            ? _root(added0 * added1)
            : _least((added0 * totalSupply) / reserve0, (added1 * totalSupply) / reserve1);
        require(units > 0, "nothing was added");
        _mint(to, units);
        _sync();
        emit Mint(msg.sender, added0, added1);
    }

    /// Pays out the share of the units that the pair itself holds.
    function burn(address to) external returns (uint256 amount0, uint256 amount1) {
        (uint256 balance0, uint256 balance1) = _balances();
        uint256 units = balanceOf[address(this)];
        amount0 = (units * balance0) / totalSupply;
        amount1 = (units * balance1) / totalSupply;
        _burn(address(this), units);
        token0.transfer(to, amount0);
        token1.transfer(to, amount1);
        _sync();
        emit Burn(msg.sender, amount0, amount1, to);
    }

    function swap(uint256 out0, uint256 out1, address to) external {
        if (out0 > 0) token0.transfer(to, out0);
        if (out1 > 0) token1.transfer(to, out1);
        (uint256 balance0, uint256 balance1) = _balances();
        uint256 in0 = balance0 + out0 - reserve0;
        uint256 in1 = balance1 + out1 - reserve1;
        uint256 product = (balance0 * 1000 - in0 * 3) * (balance1 * 1000 - in1 * 3);
        require(product >= reserve0 * reserve1 * 1000000, "too much is taken");
        _sync();
        emit Swap(msg.sender, in0, in1, out0, out1, to);
    }

    /// The amount of the other token for an amount of one.
    function quote(Erc20 paid, uint256 amount) external view returns (uint256) {
        (uint256 into, uint256 from) = paid == token0 ? (reserve0, reserve1) : (reserve1, reserve0);
        return (from * amount * 997) / (into * 1000 + amount * 997);
    }

    function _balances() private view returns (uint256, uint256) {
        return (token0.balanceOf(address(this)), token1.balanceOf(address(this)));
    }

    function _sync() private {
        (reserve0, reserve1) = _balances();
        emit Sync(uint112(reserve0), uint112(reserve1));
    }

    function _least(uint256 one, uint256 other) private pure returns (uint256) {
        return one < other ? one : other;
    }

    function _root(uint256 square) private pure returns (uint256 root) {
        root = square;
        for (uint256 next = square / 2 + 1; next < root; next = (square / next + next) / 2) root = next;
    }
}

/// Trades at pairs for those who call it. Ether is wrapped on the way in, and unwrapped on the way out.
contract Router {
    Wrapper public immutable wrapper;

    constructor(Wrapper ether_) {
        wrapper = ether_;
    }

    receive() external payable {}

    function add(Pair pair, uint256 amount0, uint256 amount1, address to) external {
        pair.token0().transferFrom(msg.sender, address(pair), amount0);
        pair.token1().transferFrom(msg.sender, address(pair), amount1);
        pair.mint(to);
    }

    function remove(Pair pair, uint256 units, address to) external {
        pair.transferFrom(msg.sender, address(pair), units);
        pair.burn(to);
    }

    function swap(Pair pair, Erc20 paid, uint256 amount, address to) external {
        paid.transferFrom(msg.sender, address(pair), amount);
        _take(pair, paid, amount, to);
    }

    function swapEther(Pair pair, address to) external payable {
        wrapper.deposit{value: msg.value}();
        wrapper.transfer(address(pair), msg.value);
        _take(pair, wrapper, msg.value, to);
    }

    function swapForEther(Pair pair, Erc20 paid, uint256 amount, address payable to) external {
        paid.transferFrom(msg.sender, address(pair), amount);
        uint256 got = _take(pair, paid, amount, address(this));
        wrapper.withdraw(got);
        (bool taken, ) = to.call{value: got}("");
        require(taken, "the ether is not taken");
    }

    function _take(Pair pair, Erc20 paid, uint256 amount, address to) private returns (uint256 got) {
        got = pair.quote(paid, amount);
        (uint256 out0, uint256 out1) = paid == pair.token0() ? (uint256(0), got) : (got, uint256(0));
        pair.swap(out0, out1, to);
    }
}
