pragma solidity 0.8.37;

import "./Token.sol";

/// The receipt for what was lent of one token. It holds the token, and only its pool moves that.
contract Receipt is Erc20 {
    address public immutable pool = msg.sender;
    Erc20 public immutable reserve;

    constructor(Erc20 token) {
        reserve = token;
    }

    modifier ofPool() {
        require(msg.sender == pool, "only the pool calls it");
        _;
    }

    function mint(address to, uint256 amount) external ofPool {
        _mint(to, amount);
    }

    function burn(address from, uint256 amount) external ofPool {
        _burn(from, amount);
    }

    function pay(address to, uint256 amount) external ofPool {
        reserve.transfer(to, amount);
    }
}

/// What is owed of one token. Units go to the debtor, as those of Aave's debt tokens.
contract Debt is Erc20 {
    address public immutable pool = msg.sender;

    modifier ofPool() {
        require(msg.sender == pool, "only the pool calls it");
        _;
    }

    function mint(address to, uint256 amount) external ofPool {
        _mint(to, amount);
    }

    function burn(address from, uint256 amount) external ofPool {
        _burn(from, amount);
    }
}

/// Loans against receipts of other tokens, with the events of Aave's third version. Its creator says the prices.
contract Lending {
    event Supply(
        address indexed reserve,
        address user,
        address indexed onBehalfOf,
        uint256 amount,
        uint16 indexed referralCode
    );
    event Withdraw(address indexed reserve, address indexed user, address indexed to, uint256 amount);
    event Borrow(
        address indexed reserve,
        address user,
        address indexed onBehalfOf,
        uint256 amount,
        uint8 interestRateMode,
        uint256 borrowRate,
        uint16 indexed referralCode
    );
    event Repay(
        address indexed reserve,
        address indexed user,
        address indexed repayer,
        uint256 amount,
        bool useATokens
    );

    address public immutable owner = msg.sender;
    Erc20[] public reserves;
    mapping(Erc20 => Receipt) public receipts;
    /// The price of a base unit, in any unit that is the same for all.
    mapping(Erc20 => uint256) public prices;
    mapping(Erc20 => Debt) public debts;
    /// Who may borrow in the name of another.
    mapping(address => mapping(address => bool)) public delegates;

    function open(Erc20 reserve, uint256 price) external {
        require(msg.sender == owner, "only the owner opens a reserve");
        receipts[reserve] = new Receipt(reserve);
        debts[reserve] = new Debt();
        prices[reserve] = price;
        reserves.push(reserve);
    }

    function supply(Erc20 reserve, uint256 amount, address onBehalfOf) external {
        reserve.transferFrom(msg.sender, address(receipts[reserve]), amount);
        receipts[reserve].mint(onBehalfOf, amount);
        emit Supply(address(reserve), msg.sender, onBehalfOf, amount, 0);
    }

    function withdraw(Erc20 reserve, uint256 amount, address to) external {
        receipts[reserve].burn(msg.sender, amount);
        _checkDebt(msg.sender);
        receipts[reserve].pay(to, amount);
        emit Withdraw(address(reserve), msg.sender, to, amount);
    }

    function allow(address borrower) external {
        delegates[msg.sender][borrower] = true;
    }

    function borrow(Erc20 reserve, uint256 amount, address onBehalfOf) external {
        require(msg.sender == onBehalfOf || delegates[onBehalfOf][msg.sender], "not allowed");
        debts[reserve].mint(onBehalfOf, amount);
        _checkDebt(onBehalfOf);
        receipts[reserve].pay(msg.sender, amount);
        emit Borrow(address(reserve), msg.sender, onBehalfOf, amount, 2, 0, 0);
    }

    function repay(Erc20 reserve, uint256 amount, address onBehalfOf) external {
        debts[reserve].burn(onBehalfOf, amount);
        reserve.transferFrom(msg.sender, address(receipts[reserve]), amount);
        emit Repay(address(reserve), onBehalfOf, msg.sender, amount, false);
    }

    function _checkDebt(address debtor) private view {
        uint256 lent;
        uint256 owed;
        for (uint256 index = 0; index < reserves.length; index++) {
            Erc20 reserve = reserves[index];
            lent += receipts[reserve].balanceOf(debtor) * prices[reserve];
            owed += debts[reserve].balanceOf(debtor) * prices[reserve];
        }
        require(owed * 4 <= lent * 3, "more is owed than three quarters of what was lent");
    }
}
