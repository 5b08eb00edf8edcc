use super::*;

fn three() -> Fields {
    [("Host", "a"), ("X-One", "1"), ("x-one", "2"), ("COOKIE", "c=d")].into_iter().collect()
}

fn as_text(fields: &Fields) -> String {
    let mut out = Vec::new();
    fields.write_h1(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn names_are_found_in_any_case_and_values_in_order() {
    let fields = three();
    assert_eq!(fields.get(b"hOST"), Some(&b"a"[..]));
    assert_eq!(fields.known(Known::Cookie), Some(&b"c=d"[..]));
    assert_eq!(fields.get_all(b"X-ONE").collect::<Vec<_>>(), [b"1", b"2"]);
    assert_eq!(fields.get(b"x-two"), None);
    assert_eq!(fields.known(Known::Range), None);
    assert_eq!(fields.len(), 4);
}

#[test]
fn set_replaces_every_value_in_the_place_of_the_first() {
    let mut fields = three();
    fields.set(b"X-One", b"3");
    assert_eq!(as_text(&fields), "Host: a\r\nX-One: 3\r\nCOOKIE: c=d\r\n");
    fields.set_known(Known::Cookie, b"e");
    fields.set(b"New", b"n");
    assert_eq!(as_text(&fields), "Host: a\r\nX-One: 3\r\nCookie: e\r\nNew: n\r\n");
}

#[test]
fn removed_fields_are_gone_from_every_look_up() {
    let mut fields = three();
    assert_eq!(fields.remove(b"x-ONE"), 2);
    assert_eq!(fields.remove(b"cookie"), 1);
    assert_eq!(fields.remove(b"cookie"), 0);
    assert!(!fields.has(Known::Cookie));
    assert_eq!(as_text(&fields), "Host: a\r\n");
    assert_eq!(fields.retain(|name, _| name != b"Host"), 1);
    assert!(fields.is_empty() && fields.known(Known::Host).is_none());
}

#[test]
fn repetition_is_known_without_a_walk_and_survives_changes() {
    let mut fields = three();
    assert!(!fields.is_repeated(Known::Host));
    fields.push_known(Known::Host, b"b");
    assert!(fields.is_repeated(Known::Host));
    assert_eq!(fields.known(Known::Host), Some(&b"a"[..]));
    assert_eq!(fields.known_all(Known::Host).collect::<Vec<_>>(), [b"a", b"b"]);
    fields.retain(|_, value| value != b"a");
    assert!(!fields.is_repeated(Known::Host));
    assert_eq!(fields.known(Known::Host), Some(&b"b"[..]));
}

#[test]
fn a_cleared_map_is_filled_again_without_allocating() {
    let mut fields = three();
    let (bytes, entries) = (fields.bytes.capacity(), fields.entries.capacity());
    fields.clear();
    assert!(fields.is_empty() && fields.get(b"host").is_none());
    fields.push(b"Host", b"b");
    assert_eq!((fields.bytes.capacity(), fields.entries.capacity()), (bytes, entries));
    assert_eq!(fields.get(b"host"), Some(&b"b"[..]));
}

#[test]
fn random_changes_agree_with_a_plain_list() {
    const NAMES: [&str; 6] = ["Host", "host", "X-A", "x-a", "Vary", "Set-Cookie"];
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut fields = Fields::new();
        let mut list: Vec<(String, String)> = Vec::new();
        for step in 0..60 {
            let name = NAMES[random.usize(..NAMES.len())];
            let value = step.to_string();
            match random.u8(..4) {
                0 | 1 => {
                    fields.push(name.as_bytes(), value.as_bytes());
                    list.push((name.to_owned(), value));
                }
                2 => {
                    fields.remove(name.as_bytes());
                    list.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
                }
                _ => {
                    fields.set(name.as_bytes(), value.as_bytes());
                    let first = list.iter().position(|(other, _)| other.eq_ignore_ascii_case(name));
                    let place = first.unwrap_or(list.len());
                    list.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
                    list.insert(place, (name.to_owned(), value));
                }
            }
            let seen: Vec<_> = fields.iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
            let expected: Vec<_> =
                list.iter().map(|(n, v)| (n.clone().into_bytes(), v.clone().into_bytes())).collect();
            assert_eq!(seen, expected, "seed {seed}");
            for name in NAMES {
                let values: Vec<_> = list.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).collect();
                assert_eq!(fields.get(name.as_bytes()), values.first().map(|(_, v)| v.as_bytes()));
                assert_eq!(fields.get_all(name.as_bytes()).count(), values.len());
                let known = Known::from_bytes(name.as_bytes());
                assert!(
                    known.is_none_or(|known| fields.is_repeated(known) == (values.len() > 1)),
                    "seed {seed}"
                );
            }
        }
    }
}
