//! Round trips of arbitrary bytes, for the fuzz target `cluster_record`.

use super::{
    ChallengeRecord, ClusterSecret, EntryId, LimitRecord, LogRecord, MemberRecord, NodeName, PageRecord,
    PemRecord, ReceiptRecord, RecordContents, RecordContext, StartId, StoredNode, TicketKeyRecord,
};

/// Decodes `body` as the authentic contents of each kind of record, and encodes what was decoded. Returns the number of
/// kinds as which the contents are valid; `None` if a second decoding differs. For fuzzing.
pub fn examine_records(body: &[u8]) -> Option<usize> {
    let node = NodeName::new("node").ok()?;
    let secret = ClusterSecret::new(&node, b"secret of 32 bytes for fuzz tests")?;
    let seal = |context| {
        let mut value = body.to_vec();
        secret.seal(context, &mut value);
        value
    };
    let mut valid = 0;
    let written_id = body.first_chunk::<16>().map(|id| {
        let (epoch, number) = id.split_at(8);
        let number_of =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        EntryId { epoch: number_of(epoch), number: number_of(number) }
    });
    if let Some(id) = written_id
        && let Ok((record, _)) = LogRecord::decode(&secret, id, &seal(RecordContext::Log))
    {
        valid += 1;
        let is_same =
            LogRecord::decode(&secret, id, &record.encode(&secret).0).is_ok_and(|(again, _)| again == record);
        if !is_same || record.predecessor.id >= id {
            return None;
        }
        if let RecordContents::Purges(purges) = &record.contents
            && purges.iter().map(super::ClusterPurge::encoded_len).sum::<usize>() > body.len()
        {
            return None;
        }
    }
    if let Ok(record) = MemberRecord::decode(&secret, &node, &seal(RecordContext::Member(&node))) {
        valid += 1;
        if MemberRecord::decode(&secret, &node, &record.encode(&secret, &node)).as_ref() != Ok(&record) {
            return None;
        }
    }
    if let Ok(record) = ReceiptRecord::decode(&secret, &node, &seal(RecordContext::Receipts(&node))) {
        valid += 1;
        if ReceiptRecord::decode(&secret, &node, &record.encode(&secret, &node)).as_ref() != Ok(&record) {
            return None;
        }
    }
    if let Ok(record) = StoredNode::decode(&secret, &node, &seal(RecordContext::Stored(&node))) {
        valid += 1;
        if StoredNode::decode(&secret, &node, &record.encode(&secret, &node)).as_ref() != Ok(&record) {
            return None;
        }
    }
    let sealed = seal(RecordContext::Page { zone: "pages", key: b"key" });
    if let Ok(record) = PageRecord::decode(&secret, "pages", b"key", &sealed) {
        valid += 1;
        let again = record.encode(&secret, "pages", b"key");
        if PageRecord::decode(&secret, "pages", b"key", &again).as_ref() != Ok(&record) {
            return None;
        }
    }
    Some(valid + examine_encrypted(&secret, body)?)
}

/// Does the same for the records that are encrypted.
fn examine_encrypted(secret: &ClusterSecret, body: &[u8]) -> Option<usize> {
    let mut valid = 0;
    let sealed = secret.encrypt("value", body.to_vec().into())?;
    if let Ok(record) = TicketKeyRecord::decode(secret, "value", &sealed) {
        valid += 1;
        let again = record.encode(secret, "value")?;
        if TicketKeyRecord::decode(secret, "value", &again).as_ref() != Ok(&record) {
            return None;
        }
    }
    if let Ok(record) = PemRecord::decode(secret, "value", &sealed) {
        valid += 1;
        let again = record.encode(secret, "value")?;
        if PemRecord::decode(secret, "value", &again).as_ref() != Ok(&record) {
            return None;
        }
    }
    if let Ok(challenges) = ChallengeRecord::decode_all(secret, "value", &sealed) {
        valid += 1;
        let again = ChallengeRecord::encode_all(&challenges, secret, "value")?;
        if ChallengeRecord::decode_all(secret, "value", &again).as_ref() != Ok(&challenges) {
            return None;
        }
    }
    let sealed = LimitRecord::encrypt_contents(secret, 0, StartId([1; 16]), body.to_vec())?;
    if let Ok(record) = LimitRecord::decode(secret, 0, &sealed) {
        valid += 1;
        if LimitRecord::decode(secret, 0, &record.encode(secret, 0)?).as_ref() != Ok(&record) {
            return None;
        }
    }
    Some(valid)
}
