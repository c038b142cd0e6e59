//! Contracts that are compiled from Solidity: exchanges, lending, vaults, wrappers, smart accounts, and contracts of thieves.
//! `compile.mjs` keeps their bytecode in `compiled.json`, so that tests need no compiler.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::Value;

/// The bytecode of a contract.
struct Compiled {
    creation: Vec<u8>,
    code: Vec<u8>,
}

static COMPILED: LazyLock<BTreeMap<String, Compiled>> = LazyLock::new(|| {
    let kept = read_compiled();
    let contracts = kept["contracts"].as_object().expect("contracts").iter();
    let bytes = |digits: &Value| hex::decode(digits.as_str().expect("digits")).expect("bytes");
    let compiled = |contract: &Value| Compiled {
        creation: bytes(&contract["creation"]),
        code: bytes(&contract["code"]),
    };
    contracts.map(|(name, contract)| (name.clone(), compiled(contract))).collect()
});

fn read_compiled() -> Value {
    serde_json::from_str(include_str!("compiled.json")).expect("JSON")
}

fn compiled(name: &str) -> &'static Compiled {
    COMPILED.get(name).unwrap_or_else(|| panic!("no such contract: {name}"))
}

/// The input that creates a contract. The arguments of its constructor follow it.
///
/// # Panics
///
/// Panics if there is no such contract.
#[must_use]
pub fn creation(name: &str) -> Vec<u8> {
    compiled(name).creation.clone()
}

/// The code of a contract whose constructor does nothing, for the first block.
///
/// # Panics
///
/// Panics if there is no such contract.
#[must_use]
pub fn code(name: &str) -> Vec<u8> {
    compiled(name).code.clone()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use sha2::{Digest, Sha256};

    use super::read_compiled;

    #[test]
    fn the_kept_bytecode_is_that_of_the_sources() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/evm/solidity");
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut sources: Vec<_> =
            files.filter(|file| file.extension().is_some_and(|end| end == "sol")).collect();
        sources.sort();
        let mut digest = Sha256::new();
        for source in sources {
            digest.update(fs::read(source).unwrap());
        }
        assert_eq!(
            read_compiled()["sources"],
            hex::encode(digest.finalize()),
            "the sources changed: run node tests/src/evm/solidity/compile.mjs"
        );
    }
}
