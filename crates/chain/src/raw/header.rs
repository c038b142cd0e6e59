//! A block's header of 80 bytes, its hash and its proof of work.

use super::{
    RawError,
    cursor::{Cursor, write_compact},
    hash256, reversed,
};

/// Version bit that announces another chain's proof of work after the header.
const AUXPOW: u32 = 1 << 8;

/// Header of a block. Hashes are in display order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Version, of which chains use single bits.
    pub version: u32,
    /// Hash of the parent block.
    pub parent: [u8; 32],
    /// Merkle root of the block's transactions.
    pub merkle_root: [u8; 32],
    /// Seconds since 1970.
    pub time: u32,
    /// Target of the proof of work, in compact form.
    pub bits: u32,
    /// Number that miners vary to meet the target.
    pub nonce: u32,
}

impl Header {
    /// Length in bytes.
    pub const LENGTH: usize = 80;

    /// True if all bytes are zero: no block has such a header.
    pub(crate) fn is_blank(&self) -> bool {
        let Self { version, parent, merkle_root, time, bits, nonce } = self;
        let numbers = [version, time, bits, nonce];
        numbers.into_iter().all(|number| *number == 0)
            && *parent == [0; 32]
            && *merkle_root == [0; 32]
    }

    pub(super) fn read(bytes: &mut Cursor<'_>) -> Result<Self, RawError> {
        const WHAT: &str = "the header";
        Ok(Self {
            version: bytes.u32(WHAT)?,
            parent: reversed(bytes.array(WHAT)?),
            merkle_root: reversed(bytes.array(WHAT)?),
            time: bytes.u32(WHAT)?,
            bits: bytes.u32(WHAT)?,
            nonce: bytes.u32(WHAT)?,
        })
    }

    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    ///
    /// Returns an error if there are fewer than [`Header::LENGTH`] bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, RawError> {
        Self::read(&mut Cursor::new(bytes))
    }

    /// Serializes the header.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LENGTH] {
        let Self { version, parent, merkle_root, time, bits, nonce } = self;
        let fields = [
            &version.to_le_bytes()[..],
            &reversed(*parent),
            &reversed(*merkle_root),
            &time.to_le_bytes(),
            &bits.to_le_bytes(),
            &nonce.to_le_bytes(),
        ];
        let mut bytes = [0; Self::LENGTH];
        for (to, from) in bytes.iter_mut().zip(fields.into_iter().flatten()) {
            *to = *from;
        }
        bytes
    }

    /// Returns the hash of the block, in display order.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        reversed(hash256(&[&self.bytes()]))
    }

    /// True if another chain's proof of work follows.
    pub(super) const fn has_auxpow(&self) -> bool {
        self.version & AUXPOW != 0
    }

    /// True if `hash` meets the target.
    #[must_use]
    pub fn is_met_by(&self, hash: &[u8; 32]) -> bool {
        self.target().is_some_and(|target| *hash <= target)
    }

    /// Checks that `bits` encode a target that is not easier than the chain's difficulty limit, given in the same form.
    ///
    /// # Errors
    ///
    /// Returns an error if `bits` encode no target, or a target easier than the limit.
    pub fn check_target(&self, limit: u32) -> Result<(), RawError> {
        let bits = self.bits;
        let hash = || hex::encode(self.hash());
        let target = self.target().ok_or_else(|| RawError::NoTarget { hash: hash(), bits })?;
        match (Self { bits: limit, ..*self }).target() {
            Some(most) if target > most => Err(RawError::AboveLimit { hash: hash(), bits, limit }),
            _ => Ok(()),
        }
    }

    /// Returns the target in the display order of hashes; `None` if the bits encode none: a negative number, zero
    /// (which no hash can meet), or a number longer than a hash.
    #[must_use]
    pub fn target(&self) -> Option<[u8; 32]> {
        let [exponent, mantissa @ ..] = self.bits.to_be_bytes();
        if mantissa == [0; 3] || mantissa.first().is_none_or(|first| *first > 0x7f) {
            return None;
        }
        let mut target = [0; 32];
        // The mantissa's last byte is worth 256^(exponent - 3).
        for (place, byte) in mantissa.into_iter().enumerate() {
            let power = (usize::from(exponent) + 2).checked_sub(place + 3);
            match power.map(|power| 31_usize.checked_sub(power)) {
                Some(Some(index)) => *target.get_mut(index)? = byte,
                Some(None) if byte != 0 => return None,
                _ => {}
            }
        }
        (target != [0; 32]).then_some(target)
    }

    /// Returns the work that the target requires: the approximate number of hashes to meet it.
    #[must_use]
    pub fn work(&self) -> u128 {
        let Some(target) = self.target() else { return 0 };
        // 2^256 / target, from its 128 leading bits: exact enough to compare branches.
        let zeros = target.iter().take_while(|byte| **byte == 0).count();
        let mut leading = [0; 16];
        for (to, from) in leading.iter_mut().zip(target.iter().skip(zeros)) {
            *to = *from;
        }
        let leading = u128::from_be_bytes(leading) >> 64;
        // The target is about leading x 256^(24 - zeros).
        let Some(quotient) = (1_u128 << 127).checked_div(leading) else { return 0 };
        let shift = i32::try_from(zeros).unwrap_or_default() * 8 - 63;
        match u32::try_from(shift) {
            Ok(left) if left <= quotient.leading_zeros() => quotient << left,
            Ok(_) => u128::MAX,
            Err(_) => quotient >> shift.unsigned_abs(),
        }
    }
}

/// Returns the hash of a Zcash header, in display order. The header has Bitcoin's fields, another field before the
/// time, and a longer nonce with its solution.
pub(crate) fn zcash_header_hash(
    header: &Header,
    commitment: [u8; 32],
    nonce: [u8; 32],
    solution: &[u8],
) -> [u8; 32] {
    let Header { version, parent, merkle_root, time, bits, .. } = header;
    let mut length = Vec::new();
    write_compact(solution.len(), &mut length);
    reversed(hash256(&[
        &version.to_le_bytes(),
        &reversed(*parent),
        &reversed(*merkle_root),
        &reversed(commitment),
        &time.to_le_bytes(),
        &bits.to_le_bytes(),
        &reversed(nonce),
        &length,
        solution,
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first() -> Header {
        let merkle = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b";
        Header {
            version: 1,
            parent: [0; 32],
            merkle_root: hex::decode(merkle).unwrap().try_into().unwrap(),
            time: 1_231_006_505,
            bits: 0x1d00_ffff,
            nonce: 2_083_236_893,
        }
    }

    #[test]
    fn the_first_block_of_bitcoin() {
        let header = first();
        let hash = header.hash();
        assert_eq!(
            hex::encode(hash),
            "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"
        );
        assert!(header.is_met_by(&hash));
        assert_eq!(
            hex::encode(header.target().unwrap()),
            "00000000ffff0000000000000000000000000000000000000000000000000000"
        );
        assert_eq!(header.work(), 0x1_0001_0001);
        let other = Header { nonce: 1, ..header };
        assert!(!other.is_met_by(&other.hash()));
    }

    #[test]
    fn a_target_above_the_difficulty_limit_is_refused() {
        let check = |bits, limit| Header { bits, ..first() }.check_target(limit);
        for (bits, limit) in
            [(0x1d00_ffff, 0x1d00_ffff), (0x1703_4219, 0x1d00_ffff), (0x207f_ffff, 0x207f_ffff)]
        {
            assert_eq!(check(bits, limit), Ok(()));
        }
        for (bits, limit) in
            [(0x1d01_0000, 0x1d00_ffff), (0x1e0f_ffff, 0x1d00_ffff), (0x2100_ffff, 0x207f_ffff)]
        {
            let error = check(bits, limit).unwrap_err();
            assert!(matches!(error, RawError::AboveLimit { .. }), "{error}");
        }
        let said = check(0x207f_ffff, 0x1d00_ffff).unwrap_err().to_string();
        assert!(
            said.ends_with(
                "states the target 0x207fffff in `bits`, which is easier than this chain \
                 allows: its difficulty limit is 0x1d00ffff"
            ),
            "{said}"
        );
        // Negative, zero, beyond 256 bits: no limit makes a target of them.
        for bits in [0x1d80_0001, 0x1d00_0000, 0, 0x2300_ffff, 0xff12_3456] {
            let error = check(bits, 0x207f_ffff).unwrap_err();
            assert!(matches!(error, RawError::NoTarget { .. }), "{bits:#x}: {error}");
        }
    }

    #[test]
    fn targets_at_the_edges() {
        let target = |bits| Header { bits, ..first() }.target().map(hex::encode);
        assert_eq!(target(0x207f_ffff).unwrap(), format!("7fffff{}", "0".repeat(58)));
        assert_eq!(target(0x0300_0001).unwrap(), format!("{}01", "0".repeat(62)));
        // A negative one, zero, one beyond 256 bits.
        for bits in [0x1d80_0000, 0x1d00_0000, 0x2300_ffff, 0xff12_3456] {
            assert_eq!(target(bits), None, "{bits:#x}");
        }
        let work = |bits| Header { bits, ..first() }.work();
        assert_eq!(work(0x207f_ffff), 2);
        assert!(work(0x1703_4219) > work(0x1703_4220) && work(0x1703_4220) > work(0x1d00_ffff));
        assert_eq!(work(0), 0);
    }
}
