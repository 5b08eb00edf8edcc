//! Tests of the labels of files that are added and removed, and of the removal of a key.

use super::*;

fn filed(key: u64, generation: u64) -> IndexedFile {
    IndexedFile {
        name: FileName::of_key(&key.to_le_bytes()),
        hash: [key, 0],
        generation,
        blocks: 0,
        variant: 0,
        used_s: 0,
        role: FileRole::Plain,
        was_seen: true,
        is_trusted: true,
        share: 0,
    }
}

#[test]
fn labels_of_pages_that_are_no_more_stay_few_however_many_pages_bear() {
    let labels: Vec<u64> = (0..100).collect();
    let mut file_index = FileIndex::new();
    for generation in 0..200 {
        (0..20).for_each(|key| file_index.insert(filed(key, generation), &labels));
        assert!(file_index.labels.len() <= 4 * 2000, "refreshed {generation} times");
    }
    for key in 20..600 {
        let victim = file_index.next_victim().unwrap();
        file_index.evict(victim.name);
        file_index.insert(filed(key, 1000 + key), &labels);
        assert!(file_index.labels.len() <= 4 * 2000, "{key} pages came");
    }
}

#[test]
fn variants_are_removed_with_their_key_although_the_marker_is_not_found_yet() {
    let mut file_index = FileIndex::new();
    let variants = [7_u64, 8].map(|variant| IndexedFile {
        name: FileName::of_variant(b"key", 1, &variant.to_le_bytes()),
        variant: variant as u32,
        role: FileRole::Variant,
        ..filed(1, 5)
    });
    for variant in variants {
        file_index.insert(variant, &[]);
    }
    assert_eq!(file_index.remove_key(b"key", variants[0].key_hash()), 2);
    let doomed = variants.map(|variant| file_index.is_doomed(variant.name));
    assert_eq!((doomed, file_index.len()), ([true; 2], 0));
    assert!(file_index.is_doomed(FileName::of_key(b"key")), "the marker, if the search finds it later");
}
