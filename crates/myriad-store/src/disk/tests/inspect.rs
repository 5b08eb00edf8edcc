//! Tests of the inspection of both tiers.

use super::*;

/// Returns all inspected pages as key and body length, sorted: those in memory, and those only on disk.
fn shown(zone: &Zone<TestPage>) -> (Vec<String>, Vec<String>) {
    let name = |key: &[u8], len: u64| format!("{} {len}", key.escape_ascii());
    let (mut memory, mut disk) = (Vec::new(), Vec::new());
    let mut at = Some(Cursor::default());
    while let Some(cursor) = at {
        let (objects, next) = zone.inspect(cursor);
        memory.extend(objects.iter().map(|object| name(object.key(), object.body().len())));
        at = next;
    }
    let mut at = Some(0);
    while let Some(slot) = at {
        let (pages, next) = zone.inspect_disk(slot);
        disk.extend(pages.iter().map(|page| name(&page.key, page.body_len)));
        at = next;
    }
    memory.sort();
    disk.sort();
    (memory, disk)
}

#[test]
fn every_page_of_both_tiers_is_shown_once() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    let mut keys: Vec<String> = (0..500).map(|number| format!("key {number:03}")).collect();
    for (id, key) in keys.iter().enumerate() {
        fixture.put(key.as_bytes(), id as u64, 100);
    }
    fixture.close();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    for key in &keys[..200] {
        assert!(fixture.id(key.as_bytes()).is_some());
    }
    let hits = fixture.zone.stats().hits;
    let (memory, disk) = shown(&fixture.zone);
    assert_eq!(fixture.zone.stats().hits, hits, "looking is no use");
    assert!(memory.len() >= 200, "{}", memory.len());
    let mut all = [memory, disk].concat();
    all.sort();
    for key in &mut keys {
        key.push_str(" 100");
    }
    assert_eq!(all, keys);
}

#[test]
fn variants_on_disk_are_shown_with_their_key() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put_variant(b"k", b"sel", b'1', 1);
    fixture.put_variant(b"k", b"sel", b'2', 2);
    let object = fixture.zone.peek(KeyRef::new(b"k"));
    assert_eq!(object.len(), 2);
    assert!(object.iter().all(|object| fixture.zone.file_of(object).is_some_and(|file| file.exists())));
    assert!(fixture.zone.peek_disk(KeyRef::new(b"k")).is_empty(), "both are in memory");
    fixture.close();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    let pages = fixture.zone.peek_disk(KeyRef::new(b"k"));
    let in_memory = fixture.zone.peek(KeyRef::new(b"k"));
    assert_eq!(pages.len() + in_memory.len(), 2);
    for page in pages {
        assert_eq!((&page.key[..], page.body_len, page.file.exists()), (&b"k"[..], 500, true));
        assert_eq!(&*page.selection.expect("a variant").selector, b"sel");
    }
}

#[test]
fn pages_on_disk_alone_are_found_by_their_labels() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    (0..200).for_each(|id| drop(fixture.put(format!("k{id}").as_bytes(), id, 100)));
    fixture.close();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    // Each test page has one label: its number modulo five.
    let label = 3;
    let found =
        fixture.zone.disk_pages_with_label(label).len() + fixture.zone.objects_with_label(label).len();
    assert_eq!(found, 40);
}

#[test]
fn what_was_purged_is_shown_no_more() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    for (id, key) in [&b"a"[..], b"b", b"c"].into_iter().enumerate() {
        fixture.put(key, id as u64, 100);
    }
    fixture.purge(PurgeScope::Rule { name: "a", rule: &[0] }, PurgeKind::Hard);
    assert_eq!(fixture.zone.purges_by_rule().len(), 1);
    assert!(fixture.zone.peek(KeyRef::new(b"a")).is_empty());
    let (memory, disk) = shown(&fixture.zone);
    assert_eq!(memory, ["b 100", "c 100"]);
    assert!(disk.is_empty(), "{disk:?}");
    fixture.purge(PurgeScope::Rule { name: "b", rule: &[1] }, PurgeKind::Soft);
    let stale = |key: &[u8]| fixture.zone.is_made_stale(&fixture.zone.peek(KeyRef::new(key))[0]);
    assert!(stale(b"b") && !stale(b"c"));
}
