use proptest::prelude::*;

use super::*;

const BCH: &str = "bch";

/// A key, and signatures of it, of a regression test network.
const KEY: &str = "022d24facdd921ad0b461e2d25f189402a8a2c1afc770620cfcc36ca7d8fd4b7be";
const SIGNATURE: &str = "304402201786c2654318da34cc9432a5ea834d5a991afa161dfeeae2cd407d62067dd2ed0220\
    4df0e80ed544d0dfb1482ed9d1da05fcaaca907a8103ba79820db5e557a5530a01";
const LONG_KEY: &str = "046c5d5e73124f3c821c0985df787e11b3d018a86add577fa8661613a0d49dde59be34f8ec26\
    6c26f94f94497e5b5d1f4159f6c0d2af22ed5ab5ba41d19535499c";

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

/// A script that pushes these items of at most 75 bytes.
fn push(items: &[&str]) -> String {
    let pushed = items.iter().map(|item| format!("{:02x}{item}", item.len() / 2));
    pushed.collect::<Vec<_>>().concat()
}

fn derived(chain: &str, script: &str, witness: &[&str]) -> Option<ScriptOwner> {
    let witness: Vec<Vec<u8>> = witness.iter().map(|item| bytes(item)).collect();
    let witness: Vec<&[u8]> = witness.iter().map(Vec::as_slice).collect();
    ScriptOwner::from_unlocking(chain.parse().unwrap(), &bytes(script), &witness)
}

/// The owner of an output with this script.
fn paid(script: &str) -> ScriptOwner {
    ScriptOwner::from_script(ChainId::BTC, &bytes(script))
}

#[test]
fn standard_outputs_have_the_owner_that_they_were_paid_to() {
    // What Bitcoin Core signed, and the outputs that it spent.
    let checks_key = format!("21{KEY}ac");
    let program = "00145103ab04b2d84b77305ee1263e2c17dad8bd7da1";
    let script_program = "002000703848c7436918d5247ed79ec8e5adaac89991d4230b614679fd9095c81dc2";
    for (output, script, witness) in [
        // A key's hash, with either form of key.
        ("76a9145103ab04b2d84b77305ee1263e2c17dad8bd7da188ac", push(&[SIGNATURE, KEY]), vec![]),
        (
            "76a91499d46145c23c59d011a1d7b61b449392a9d8426788ac",
            push(&[SIGNATURE, LONG_KEY]),
            vec![],
        ),
        // A script's hash.
        ("a9144a8ce8fbc64c1e697b515dcaa9bb48903e7634dd87", push(&[SIGNATURE, &checks_key]), vec![]),
        // Witness programs by themselves, and within a script's hash.
        (program, String::new(), vec![SIGNATURE, KEY]),
        (script_program, String::new(), vec![SIGNATURE, &checks_key]),
        ("a9143dea418cd376ae20fd816e23fa2f55f96a10054a87", push(&[program]), vec![SIGNATURE, KEY]),
        (
            "a9143efe84a892c6f1670175cb338a85d5c68c62cb7487",
            push(&[script_program]),
            vec![SIGNATURE, &checks_key],
        ),
    ] {
        assert_eq!(derived("btc", &script, &witness), Some(paid(output)), "{output}");
    }
}

#[test]
fn a_multisig_script_has_its_hash() {
    // Two of three: the empty item that the operation takes too many, two signatures, the script.
    let script = format!("5221{KEY}21{KEY}41{LONG_KEY}53ae");
    let pushed = format!("00{}4c{:02x}{script}", push(&[SIGNATURE, SIGNATURE]), script.len() / 2);
    let hash = ScriptOwner::ScriptHash(hash160(&bytes(&script)));
    assert_eq!(derived("btc", &pushed, &[]), Some(hash));
    let program = ScriptOwner::Witness(0, Sha256::digest(bytes(&script)).to_vec());
    assert_eq!(derived("btc", "", &["", SIGNATURE, SIGNATURE, &script]), Some(program));
}

#[test]
fn data_that_unlocks_several_forms_tells_no_owner() {
    let schnorr = "ab".repeat(64);
    let control_block = format!("c0{}", "ab".repeat(32 + 64));
    let checks_key = format!("21{KEY}ac");
    let preimage = "ab".repeat(32);
    for (script, witness) in [
        (String::new(), vec![]),
        // A bare key or multisig: only signatures.
        (push(&[SIGNATURE]), vec![]),
        (format!("00{}", push(&[SIGNATURE, SIGNATURE])), vec![]),
        // The preimage of a bare hash, and a script that names no key.
        (push(&[&preimage]), vec![]),
        (push(&["5151ac"]), vec![]),
        (push(&[&format!("21{KEY}87")]), vec![]),
        // A key with something that is no signature.
        (push(&["51", KEY]), vec![]),
        (push(&[&SIGNATURE[..60], KEY]), vec![]),
        // More than pushes, and a push that is cut off.
        (format!("{}ac", push(&[SIGNATURE, KEY])), vec![]),
        (format!("{}21{}", push(&[SIGNATURE]), &KEY[..40]), vec![]),
        // Taproot: by key, with an annex, by script, and by a script whose leaf version no rule defines.
        (String::new(), vec![schnorr.as_str()]),
        (String::new(), vec![&schnorr, "50aa"]),
        (String::new(), vec![SIGNATURE, &checks_key, &control_block]),
        (String::new(), vec!["51", KEY]),
        (String::new(), vec![""]),
        // A program that does not commit to the witness, and one of another version.
        (push(&["00145103ab04b2d84b77305ee1263e2c17dad8bd7da2"]), vec![SIGNATURE, KEY]),
        (push(&["00145103ab04b2d84b77305ee1263e2c17dad8bd7da1"]), vec![KEY]),
        (push(&["51145103ab04b2d84b77305ee1263e2c17dad8bd7da1"]), vec![SIGNATURE, KEY]),
        (push(&[SIGNATURE, KEY]), vec![SIGNATURE, KEY]),
    ] {
        assert_eq!(derived("btc", &script, &witness), None, "{script} {witness:?}");
    }
}

#[test]
fn chains_differ_in_what_can_be_told() {
    let key_hash = ScriptOwner::KeyHash(hash160(&bytes(KEY)));
    for chain in ["btc", "ltc", "doge", "dash", "zec", BCH] {
        let told = derived(chain, &push(&[SIGNATURE, KEY]), &[]);
        assert_eq!(told.as_ref(), Some(&key_hash), "{chain}");
    }
    // Bitcoin Cash has Schnorr signatures for keys, and two hashes for one script.
    let schnorr = "ab".repeat(65);
    assert_eq!(derived(BCH, &push(&[&schnorr, KEY]), &[]), Some(key_hash));
    assert_eq!(derived("btc", &push(&[&schnorr, KEY]), &[]), None);
    let script = push(&[SIGNATURE, &format!("21{KEY}ac")]);
    assert_eq!(derived(BCH, &script, &[]), None);
    assert!(derived("doge", &script, &[]).is_some());
    // Without segregated witness there is nothing to read in one.
    assert_eq!(derived(BCH, "", &[SIGNATURE, KEY]), None);
    assert_eq!(derived("doge", "", &[SIGNATURE, KEY]), None);
}

#[test]
fn signatures_are_in_strict_der() {
    assert!(is_signature(&bytes(SIGNATURE)));
    for (from, to) in [
        ("3044", "3045"),
        ("3044", "3144"),
        ("02201786", "02209786"),
        ("02201786", "02200017"),
        ("02201786", "03201786"),
        ("02204df0", "02214df0"),
        ("02204df0", "02004df0"),
    ] {
        assert!(SIGNATURE.contains(from));
        assert!(!is_signature(&bytes(&SIGNATURE.replacen(from, to, 1))), "{from} {to}");
    }
}

fn signed(script: &str, witness: &[&str]) -> bool {
    let witness: Vec<Vec<u8>> = witness.iter().map(|item| bytes(item)).collect();
    let witness: Vec<&[u8]> = witness.iter().map(Vec::as_slice).collect();
    shows_signature(&bytes(script), &witness)
}

#[test]
fn what_unlocks_an_output_shows_a_signature_where_a_key_must_sign() {
    let (checks_key, schnorr) = (format!("21{KEY}ac"), "11".repeat(64));
    let control = "c0".to_owned() + &"22".repeat(32);
    let nested = push(&["00145103ab04b2d84b77305ee1263e2c17dad8bd7da1"]);
    // A bare key, a key's hash, a script's hash; the same in witnesses; Taproot by its key and by a script.
    assert!(signed(&push(&[SIGNATURE]), &[]));
    assert!(signed(&push(&[SIGNATURE, KEY]), &[]));
    assert!(signed(&push(&[SIGNATURE, &checks_key]), &[]));
    assert!(signed("", &[SIGNATURE, KEY]));
    assert!(signed("", &[SIGNATURE, &checks_key]));
    assert!(signed(&nested, &[SIGNATURE, KEY]));
    assert!(signed("", &[&schnorr]));
    assert!(signed("", &[&schnorr, &format!("20{}ac", "33".repeat(32)), &control]));
}

#[test]
fn what_unlocks_an_output_that_anybody_can_spend_shows_no_signature() {
    let (schnorr, control) = ("11".repeat(64), "c0".to_owned() + &"22".repeat(32));
    // A script that is always true: bare, by its hash, in a witness, in a leaf; pay-to-anchor; the answer to a riddle.
    assert!(!signed("", &[]));
    assert!(!signed(&push(&["51"]), &[]));
    assert!(!signed("", &["51"]));
    assert!(!signed("", &["51", &control]));
    assert!(!signed("", &["736563726574", &format!("a820{}87", "33".repeat(32))]));
    // A signature that no script checks.
    assert!(!signed("", &[SIGNATURE, "7551"]));
    assert!(!signed("", &[&schnorr, "7551", &control]));
    assert!(!signed(&push(&[SIGNATURE, "7551"]), &[]));
    assert!(!signed("", &[&schnorr, &"51".repeat(64)]), "no key path has two items");
}

proptest! {
    #[test]
    fn no_bytes_cause_a_panic(
        script in prop::collection::vec(any::<u8>(), 0..80),
        witness in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..4),
    ) {
        let witness: Vec<&[u8]> = witness.iter().map(Vec::as_slice).collect();
        for chain in ["btc", BCH, "ltc"] {
            let _ = ScriptOwner::from_unlocking(chain.parse().unwrap(), &script, &witness);
        }
        let _ = (checks_signatures(&script), shows_signature(&script, &witness));
    }

    #[test]
    fn a_nested_program_is_told_only_with_its_witness(
        key in prop::collection::vec(any::<u8>(), 33),
        other in prop::collection::vec(any::<u8>(), 33),
    ) {
        let program = [&[0, 20][..], &hash160(&key)].concat();
        let script = [&[22][..], &program].concat();
        let signature = bytes(SIGNATURE);
        let told = |key: &[u8]| {
            ScriptOwner::from_unlocking(ChainId::BTC, &script, &[&signature, key])
        };
        prop_assert_eq!(told(&key), Some(ScriptOwner::ScriptHash(hash160(&program))));
        prop_assert!(key == other || told(&other).is_none());
    }
}
