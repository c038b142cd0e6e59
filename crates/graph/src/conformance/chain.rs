//! Generated chains: everything that a graph must keep, drawn from a seed.

use assay_address::ChainId;
use assay_engine::{
    ledger::BlockRef,
    utxo::{
        Block, OutPoint, Pool, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxInput,
        TxOut, Txid, coinjoin::CoinjoinKind,
    },
};
use assay_test_random::Random;
use jiff::Timestamp;

/// A generated chain.
#[derive(Clone, Debug)]
pub struct TestChain {
    /// The chain that it stands for.
    pub id: ChainId,
    /// Height of its first block.
    pub start: u64,
    /// Its blocks.
    pub blocks: Vec<ResolvedBlock>,
    random: Random,
    unspent: Vec<(OutPoint, TxOut)>,
}

impl TestChain {
    /// A chain without blocks.
    #[must_use]
    pub const fn new(seed: u64, start: u64) -> Self {
        Self {
            id: ChainId::BTC,
            start,
            blocks: Vec::new(),
            random: Random::new(seed),
            unspent: Vec::new(),
        }
    }

    /// A chain of `blocks` blocks from height `start` on.
    #[must_use]
    pub fn generate(seed: u64, start: u64, blocks: usize) -> Self {
        let mut chain = Self::new(seed, start);
        for _ in 0..blocks {
            chain.add_random_block();
        }
        chain
    }

    /// The same blocks on another chain.
    #[must_use]
    pub fn with_id(self, id: ChainId) -> Self {
        Self { id, ..self }
    }

    /// The chain up to a height, followed by `blocks` other blocks.
    #[must_use]
    pub fn fork(&self, height: u64, seed: u64, blocks: usize) -> Self {
        let mut fork = Self { id: self.id, ..Self::new(seed, self.start) };
        let kept = self.blocks.iter().filter(|block| block.reference.height <= height);
        for block in kept {
            for transaction in &block.transactions {
                fork.update_unspent(transaction);
            }
            fork.blocks.push(block.clone());
        }
        for _ in 0..blocks {
            fork.add_random_block();
        }
        fork
    }

    /// Adds a block of up to eight transactions.
    pub fn add_random_block(&mut self) {
        let mut transactions = vec![self.coinbase()];
        self.update_unspent(&transactions[0]);
        for _ in 0..self.random.index(8) {
            let transaction = self.payment();
            self.update_unspent(&transaction);
            transactions.push(transaction);
        }
        self.add_block(transactions);
    }

    /// A chain of payments to many addresses, which are spent together: pairs at first, then what was paid
    /// by these, so that clusters of equal and of different sizes are joined, some again and again.
    #[must_use]
    pub fn consolidating(seed: u64, blocks: usize) -> Self {
        const NEW: usize = 12;
        let mut chain = Self::new(seed, 0);
        for number in 0..blocks {
            let outputs = (0..NEW).map(|index| {
                let [.., high, low] = (number * NEW + index).to_be_bytes();
                let mut hash = [7; 20];
                (hash[0], hash[1]) = (high, low);
                TxOut { owner: ScriptOwner::KeyHash(hash), value: 5_000_000 }
            });
            let txid = Txid::from_bytes(chain.random.bytes());
            let coinbase = Transaction {
                txid,
                kind: TransactionKind::Coinbase,
                inputs: Vec::new(),
                outputs: outputs.collect(),
            };
            chain.update_unspent(&coinbase);
            let mut transactions = vec![coinbase];
            for _ in 0..4 {
                let payment = chain.consolidation();
                chain.update_unspent(&payment);
                transactions.push(payment);
            }
            chain.add_block(transactions);
        }
        chain
    }

    /// Spends two or three outputs to an earlier address, and sometimes to a second one.
    fn consolidation(&mut self) -> Transaction {
        let mut spent: Vec<(OutPoint, TxOut)> = Vec::new();
        for _ in 0..2 + self.random.index(2) {
            let coin = self.unspent[self.random.index(self.unspent.len())].clone();
            if !spent.contains(&coin) {
                spent.push(coin);
            }
        }
        let worth: u64 = spent.iter().map(|(_, coin)| coin.value).sum();
        let own = spent[0].1.owner.clone();
        let mut outputs = vec![TxOut { owner: own, value: worth - worth / 50 }];
        if self.random.one_in(2) {
            let other = self.unspent[self.random.index(self.unspent.len())].1.owner.clone();
            outputs.push(TxOut { owner: other, value: worth / 100 });
        }
        let inputs = spent.into_iter().map(|(outpoint, coin)| TxInput::new(outpoint, Some(coin)));
        Transaction {
            txid: Txid::from_bytes(self.random.bytes()),
            kind: TransactionKind::Payment,
            inputs: inputs.collect(),
            outputs,
        }
    }

    /// Adds a block with these transactions.
    pub fn add_block(&mut self, transactions: Vec<Transaction>) {
        let last = self.blocks.last().map(|block| block.reference);
        let height = last.map_or(self.start, |last| last.height + 1);
        let parent = last.map_or([0; 32], |last| last.hash);
        // Later blocks may have earlier times.
        let second = i64::try_from(height * 600 + self.random.next() % 1500).unwrap();
        let time = Timestamp::from_second(1_231_006_505 + second).unwrap();
        let reference = BlockRef { height, hash: self.random.bytes(), parent, time };
        // Some sources do not state it.
        let work = (height % 11 != 7).then(|| u128::from(height + 1) << 70);
        self.blocks.push(ResolvedBlock::assume(Block { reference, work, transactions }));
    }

    fn update_unspent(&mut self, transaction: &Transaction) {
        self.unspent.retain(|(output, _)| {
            output.txid != transaction.txid
                && !transaction.inputs.iter().any(|input| input.outpoint == *output)
        });
        for (coin, index) in transaction.outputs.iter().zip(0..) {
            let output = OutPoint { txid: transaction.txid, index };
            self.unspent.push((output, coin.clone()));
        }
    }

    fn owner(&mut self) -> ScriptOwner {
        // Few owners, so that they meet again; the first is a hub.
        let number = if self.random.one_in(3) { 0 } else { self.random.index(40) };
        let byte = u8::try_from(number).unwrap();
        match number % 6 {
            0 | 1 => ScriptOwner::KeyHash([byte; 20]),
            2 => ScriptOwner::ScriptHash([byte; 20]),
            3 => ScriptOwner::Witness(0, vec![byte; 20]),
            4 => ScriptOwner::Witness(1, vec![byte; 32]),
            _ => ScriptOwner::Script([byte; 32]),
        }
    }

    fn coinbase(&mut self) -> Transaction {
        if self.random.one_in(10) && !self.blocks.is_empty() {
            // Some coinbases are repeated byte by byte (BIP 30).
            let index = self.random.index(self.blocks.len());
            return self.blocks[index].transactions[0].clone();
        }
        let outputs = (0..=self.random.index(2))
            .map(|_| TxOut { owner: self.owner(), value: 25 + self.random.next() % 1_000_000 })
            .collect();
        Transaction {
            txid: Txid::from_bytes(self.random.bytes()),
            kind: TransactionKind::Coinbase,
            inputs: Vec::new(),
            outputs,
        }
    }

    fn payment(&mut self) -> Transaction {
        let txid = Txid::from_bytes(self.random.bytes());
        let mut inputs = Vec::new();
        for _ in 0..=self.random.index(4) {
            if self.unspent.is_empty() {
                break;
            }
            let index = self.random.index(self.unspent.len());
            let (output, coin) = self.unspent[index].clone();
            if !inputs.iter().any(|input: &TxInput| input.outpoint == output) {
                inputs.push(TxInput::new(output, Some(coin)));
            }
        }
        let mut unknown = 0;
        if self.random.one_in(6) {
            let outpoint = self.unrecorded();
            inputs.insert(0, TxInput::new(outpoint, None));
            unknown = self.random.next() % 5000;
        }
        if self.random.one_in(12) {
            // Created before the first block, but told by the node.
            let coin = TxOut { owner: self.owner(), value: self.random.next() % 3000 };
            inputs.push(TxInput::new(self.unrecorded(), Some(coin)));
        }
        if self.random.one_in(12) {
            let value = self.random.next() % 3000;
            let coin = TxOut { owner: ScriptOwner::Pool(Pool::Mweb), value };
            inputs.push(TxInput::from_pool(txid, Some(coin)));
        }
        let worth = inputs.iter().flat_map(|input| &input.spent).map(|coin| coin.value);
        let mut rest = worth.sum::<u64>() + unknown;
        rest -= rest / 50;
        let mut outputs = Vec::new();
        for _ in 0..=self.random.index(5) {
            let value = if self.random.one_in(8) { 0 } else { self.random.next() % (rest + 1) };
            rest -= value;
            outputs.push(TxOut { owner: self.owner(), value });
        }
        let payers: Vec<_> = inputs.iter().flat_map(|input| &input.spent).collect();
        if !payers.is_empty() && self.random.one_in(2) {
            let change = payers[self.random.index(payers.len())].owner.clone();
            let index = self.random.index(outputs.len() + 1);
            outputs.insert(index, TxOut { owner: change, value: rest });
        }
        if self.random.one_in(12) {
            let value = outputs.last().unwrap().value;
            outputs.last_mut().unwrap().value = 0;
            outputs.push(TxOut { owner: ScriptOwner::Pool(Pool::Mweb), value });
        }
        let kind = match self.random.index(10) {
            number @ 0..5 => TransactionKind::Coinjoin(CoinjoinKind::ALL[number]),
            _ => TransactionKind::Payment,
        };
        Transaction { txid, kind, inputs, outputs }
    }

    /// An output of an unrecorded transaction.
    fn unrecorded(&mut self) -> OutPoint {
        let index = [0, 1, 70_000, 3_000_000_000][self.random.index(4)];
        OutPoint { txid: Txid::from_bytes(self.random.bytes()), index }
    }

    /// All owners that appear, and one that does not.
    #[must_use]
    pub fn owners(&self) -> Vec<ScriptOwner> {
        let transactions = self.blocks.iter().flat_map(|block| &block.transactions);
        let mut owners: Vec<_> = transactions
            .flat_map(|transaction| transaction.all_outputs().map(|output| output.owner.clone()))
            .collect();
        owners.push(ScriptOwner::KeyHash([255; 20]));
        owners.sort();
        owners.dedup();
        owners
    }

    /// The identifiers of all transactions, repeated ones as often as they appear, and one that does not.
    #[must_use]
    pub fn txids(&self) -> Vec<Txid> {
        let transactions = self.blocks.iter().flat_map(|block| &block.transactions);
        let nobody = Txid::from_bytes([255; 32]);
        transactions.map(|transaction| transaction.txid).chain([nobody]).collect()
    }

    /// All outputs, all spent outputs, and some that do not exist.
    #[must_use]
    pub fn outpoints(&self) -> Vec<OutPoint> {
        let transactions = self.blocks.iter().flat_map(|block| &block.transactions);
        let outputs = transactions.flat_map(|transaction| {
            let made = (0..=transaction.outputs.len()).map(|index| OutPoint {
                txid: transaction.txid,
                index: u32::try_from(index).unwrap(),
            });
            made.chain(transaction.inputs.iter().map(|input| input.outpoint))
        });
        outputs.chain([OutPoint { txid: Txid::from_bytes([255; 32]), index: 0 }]).collect()
    }
}
