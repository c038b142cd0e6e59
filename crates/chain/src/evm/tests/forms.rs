//! Both forms of traces state the same transfers, and no JSON stops the program.

use assay_address::ChainId;
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

use super::build::{NodeBlock, account, hash, quantity, transfer, word};
use crate::{
    Tracer,
    evm::trace::{of_call_tracer, of_flat_call_tracer, of_trace_block},
};

/// A call that both forms of traces tell.
#[derive(Clone, Debug)]
struct Told {
    kind: &'static str,
    to: u64,
    value: u64,
    fails: bool,
    calls: Vec<Self>,
}

const KINDS: [&str; 7] =
    ["CALL", "DELEGATECALL", "STATICCALL", "CALLCODE", "CREATE", "CREATE2", "SELFDESTRUCT"];

fn calls() -> impl Strategy<Value = Told> {
    let one = (prop::sample::select(&KINDS), 1_u64..6, 0_u64..4, prop::bool::weighted(0.2));
    let leaf = one.clone().prop_map(|(kind, to, value, fails)| Told {
        kind,
        to,
        value,
        fails,
        calls: vec![],
    });
    let inner = leaf.prop_recursive(4, 40, 5, move |below| {
        (one.clone(), vec(below, 0..5)).prop_map(|((kind, to, value, fails), calls)| {
            let calls = if kind == "SELFDESTRUCT" { vec![] } else { calls };
            Told { kind, to, value, fails, calls }
        })
    });
    // A transaction is a call, and destroys no contract that did not exist.
    (vec(inner, 0..5), 0_u64..4, any::<bool>()).prop_map(|(calls, value, fails)| Told {
        kind: "CALL",
        to: 2,
        value,
        fails,
        calls,
    })
}

impl Told {
    /// The account in which the calls below run.
    fn runs_in(&self, from: u64) -> u64 {
        match self.kind {
            "DELEGATECALL" | "CALLCODE" => from,
            _ => self.to,
        }
    }

    fn frame(&self, from: u64) -> Value {
        let below = self.calls.iter().map(|call| call.frame(self.runs_in(from)));
        let mut frame = json!({
            "type": self.kind, "from": account(from), "to": account(self.to), "value": quantity(self.value),
            "gas": "0x1", "gasUsed": "0x1", "input": "0x", "calls": below.collect::<Vec<_>>(),
        });
        if self.kind == "STATICCALL" {
            frame.as_object_mut().unwrap().remove("value");
        }
        if self.fails {
            frame["error"] = json!("execution reverted");
            if self.kind.starts_with("CREATE") {
                frame.as_object_mut().unwrap().remove("to");
            }
        }
        frame
    }

    fn flat(&self, from: u64, path: &mut Vec<usize>, into: &mut Vec<Value>) {
        let (from_text, to_text, value) = (account(from), account(self.to), quantity(self.value));
        let (kind, action) = match self.kind {
            "SELFDESTRUCT" => (
                "suicide",
                json!({ "address": from_text, "refundAddress": to_text, "balance": value }),
            ),
            "CREATE" | "CREATE2" => {
                ("create", json!({ "from": from_text, "value": value, "init": "0x", "gas": "0x1" }))
            }
            call => {
                let call_type = call.to_lowercase();
                let value = if call == "STATICCALL" { quantity(0) } else { value };
                (
                    "call",
                    json!({ "callType": call_type, "from": from_text, "to": to_text, "value": value }),
                )
            }
        };
        let mut trace = json!({
            "type": kind, "action": action, "traceAddress": path, "subtraces": self.calls.len(),
            "transactionHash": hash(0x1000), "blockHash": hash(0xb10c), "result": null,
        });
        if self.fails {
            trace["error"] = json!("Reverted");
        } else if kind == "create" {
            trace["result"] = json!({ "address": to_text });
        }
        into.push(trace);
        for (number, call) in self.calls.iter().enumerate() {
            path.push(number);
            call.flat(self.runs_in(from), path, into);
            path.pop();
        }
    }
}

/// A block of one transaction with a token's transfer, told in one form.
fn node_block(told: &Told, traces: (Tracer, Value)) -> NodeBlock {
    let logs = [transfer(&account(0xaa), 1, 2, 3)];
    let logs = if told.fails { &[][..] } else { &logs };
    let mut node_block = NodeBlock::new(ChainId::ETH).transaction(1, Some(2), told.value, logs);
    node_block.receipts[0]["status"] = json!(quantity((!told.fails).into()));
    NodeBlock { traces: Some(traces), ..node_block }
}

proptest! {
    #[test]
    fn both_forms_state_the_same_transfers(told in calls(), reward in any::<bool>()) {
        let nested = json!([{ "txHash": hash(0x1000), "result": told.frame(1) }]);
        let mut flat = Vec::new();
        told.flat(1, &mut Vec::new(), &mut flat);
        let flat_of_geth = json!([{ "txHash": hash(0x1000), "result": flat }]);
        let calls = of_flat_call_tracer(&flat_of_geth.to_string()).unwrap();
        prop_assert_eq!(&calls[0].calls, &of_call_tracer(&nested.to_string()).unwrap()[0].calls);
        // Nodes invent rewards, and list calls in any order.
        flat.reverse();
        if reward {
            flat.push(json!({
                "type": "reward", "action": { "author": account(9), "rewardType": "block", "value": "0x1" },
                "traceAddress": [], "subtraces": 0, "transactionHash": null,
            }));
        }
        let nested = node_block(&told, (Tracer::Calls, nested)).read().unwrap();
        let flat = node_block(&told, (Tracer::Parity, Value::Array(flat))).read().unwrap();
        prop_assert_eq!(nested, flat);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = (of_call_tracer(&text), of_trace_block(&text), of_flat_call_tracer(&text));
    }

    #[test]
    fn any_change_of_answers_is_read_or_refused(
        told in calls(),
        changes in vec((any::<prop::sample::Index>(), 0_usize..12), 1..4),
        is_flat in any::<bool>(),
    ) {
        let traces = if is_flat {
            let mut flat = Vec::new();
            told.flat(1, &mut Vec::new(), &mut flat);
            (Tracer::Parity, Value::Array(flat))
        } else {
            (Tracer::Calls, json!([{ "txHash": hash(0x1000), "result": told.frame(1) }]))
        };
        let mut node_block = node_block(&told, traces);
        node_block.block["difficulty"] = json!("0x1");
        node_block.block["withdrawals"] = json!([
            { "index": "0x0", "validatorIndex": "0x1", "address": account(3), "amount": "0x4" },
        ]);
        for (index, change) in changes {
            let mut all: Vec<&mut Value> = Vec::new();
            let NodeBlock { block, receipts, traces, .. } = &mut node_block;
            leaves(block, &mut all);
            for receipt in receipts {
                leaves(receipt, &mut all);
            }
            if let Some((_, traces)) = traces {
                leaves(traces, &mut all);
            }
            let at = index.index(all.len());
            *all[at] = nonsense(change);
        }
        let _ = node_block.read();
    }
}

/// The values of a JSON text that are no array or object.
fn leaves<'a>(value: &'a mut Value, into: &mut Vec<&'a mut Value>) {
    if !value.is_array() && !value.is_object() {
        return into.push(value);
    }
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| leaves(value, into)),
        Value::Object(fields) => fields.values_mut().for_each(|value| leaves(value, into)),
        _ => {}
    }
}

fn nonsense(number: usize) -> Value {
    match number {
        0 => Value::Null,
        1 => json!("0xffffffffffffffff"),
        2 => json!(format!("0x{}", "f".repeat(64))),
        3 => json!("0x0"),
        4 => json!("0x"),
        5 => json!("0xzz"),
        6 => json!(-1),
        7 => json!([]),
        8 => json!({}),
        9 => json!(word(u64::MAX)),
        10 => json!(account(7)),
        _ => json!(format!("0x{}", "ab".repeat(1_000))),
    }
}

/// Given calls as deep as a transaction can nest them, then they are read; deeper ones are refused.
#[test]
fn calls_are_read_to_the_depth_that_transactions_have() {
    let nested = |depth: usize| {
        let frame = format!(
            r#"{{"type":"CALL","from":"{}","to":"{}","value":"0x1""#,
            account(1),
            account(1)
        );
        let (open, close) = (format!(r#"{frame},"calls":["#), "]}");
        let inner = format!("{frame}}}");
        let calls = format!("{}{inner}{}", open.repeat(depth - 1), close.repeat(depth - 1));
        format!(r#"[{{"txHash":"{}","result":{calls}}}]"#, hash(1))
    };
    for depth in [1, 60, 1_025] {
        let read = of_call_tracer(&nested(depth)).unwrap();
        assert_eq!(read[0].calls.len(), depth);
    }
    let said = of_call_tracer(&nested(2_000)).unwrap_err();
    assert!(said.contains("at most 1,024 levels"), "{said}");
    assert!(of_call_tracer(&"[".repeat(10_000_000)).is_err());
}

/// Given calls without the one above them, then its failure would not be seen, and they are refused.
#[test]
fn incomplete_traces_are_refused() {
    let call = |path: &[u32]| {
        json!({
            "type": "call", "action": { "from": account(1), "to": account(2), "value": "0x1" }, "traceAddress": path,
            "transactionHash": hash(1), "blockHash": hash(2),
        })
    };
    let said = |paths: &[&[u32]]| {
        let calls: Vec<_> = paths.iter().map(|path| call(path)).collect();
        of_trace_block(&Value::Array(calls).to_string()).unwrap_err()
    };
    assert!(said(&[&[], &[0, 1]]).contains("the call above [0, 1] is missing"));
    assert!(said(&[&[], &[0], &[0]]).contains("two calls have the path [0]"));
    assert!(said(&[&[0; 2_000]]).contains("a call is 2000 deep"));
    let mut of_no_block = call(&[]);
    of_no_block.as_object_mut().unwrap().remove("blockHash");
    let said = of_trace_block(&json!([of_no_block]).to_string()).unwrap_err();
    assert!(said.contains("a call is in no block"), "{said}");
    // What stands in the place of a number may be as large as the answer.
    let long = json!([{ "txHash": "A".repeat(100_000) }]).to_string();
    for said in [of_trace_block(&long), of_call_tracer(&long)].map(Result::unwrap_err) {
        assert!(said.len() < 1_000, "{} bytes", said.len());
    }
}
