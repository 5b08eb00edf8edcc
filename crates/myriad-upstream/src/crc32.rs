//! CRC-32 checksum, by which nginx hashes keys.

/// Returns the CRC-32 (IEEE 802.3) of the concatenated parts. It is computed bit by bit: hashed keys are short, and the
/// choice of a peer needs few checksums.
pub(super) fn crc32(parts: &[&[u8]]) -> u32 {
    let bytes = parts.iter().flat_map(|part| part.iter());
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}
