//! Tests of the labels of files that are added and removed.

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
