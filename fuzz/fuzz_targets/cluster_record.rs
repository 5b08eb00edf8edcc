//! Records of a cluster: what is decoded survives a round trip, and values without a valid tag are refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_cluster::record::{ClusterSecret, EntryId, LimitRecord, LogRecord, NodeName, RecordError, examine_records};

fuzz_target!(|body: &[u8]| {
    assert!(examine_records(body).is_some());
    let cluster = NodeName::new("cluster").expect("valid name");
    let secret = ClusterSecret::new(&cluster, b"secret of the cluster of 32 bytes or more").expect("long enough");
    assert_eq!(LogRecord::decode(&secret, EntryId::ZERO, body), Err(RecordError::NotAuthentic));
    assert!(LimitRecord::decode(&secret, 0, body).is_err());
    if let Ok(text) = std::str::from_utf8(body)
        && let Some(id) = EntryId::parse(text)
    {
        assert_eq!(EntryId::parse(&id.to_string()), Some(id));
        assert!(id.before() <= id);
    }
});
