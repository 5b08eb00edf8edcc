use super::*;
use crate::{MAX_REPLACEMENTS, ReplacementBody};

fn body(id: u64, len: usize) -> ReplacementBody<TestPage> {
    ReplacementBody {
        meta: TestPage { id, heap: 0 },
        body: Bytes::from(content(id, len)).into(),
        alternatives: [const { None }; ALTERNATIVES],
    }
}

#[test]
fn latest_replacement_is_returned_and_counted_until_the_object_is_removed() {
    let zone = zone(1 << 20);
    let before = zone.stats().bytes;
    let object = put(&zone, b"/", 1, 6000, 10);
    let alone = zone.stats().bytes;
    assert!(object.replacement().is_none());
    zone.replace(&object, Some(body(2, 5000)), (), 11).expect("stored");
    let first = object.replacement().and_then(|new| new.object()).expect("an object").clone();
    assert_eq!((first.key(), first.body_len(), first.body().len()), (&b"/"[..], 5000, 5000));
    assert_ne!(first.generation(), object.generation());
    zone.attach(&first, 1, AlternativeEncoding { bytes: vec![0; 700].into(), meta: 1 }).expect("stored");
    zone.replace(&object, None, (), 12).expect("stored");
    assert!(object.replacement().is_some_and(|latest| latest.object().is_none()));
    assert!(zone.stats().bytes > alone + 5700);
    for _ in 2..MAX_REPLACEMENTS {
        zone.replace(&object, None, (), 13).expect("stored");
    }
    assert_eq!(zone.replace(&object, None, (), 14), Err(AttachError::Occupied));
    zone.remove(KeyRef::new(b"/"));
    assert_eq!(zone.stats().bytes, before);
    assert_eq!(zone.replace(&object, Some(body(3, 10)), (), 15), Err(AttachError::Gone));
    assert_eq!(
        zone.attach(&first, 2, AlternativeEncoding { bytes: vec![0; 7].into(), meta: 1 }),
        Err(AttachError::Gone)
    );
    assert_eq!(zone.stats().bytes, before);
}

#[test]
fn replacement_that_does_not_fit_is_refused() {
    let zone = zone(1 << 20);
    let object = put(&zone, b"/", 1, 600, 10);
    assert_eq!(zone.replace(&object, Some(body(2, 2 << 20)), (), 11), Err(AttachError::NoRoom));
    assert!(object.replacement().is_none());
}
