use super::*;

fn page(nonce: &str, ms: &str, price: &str) -> String {
    let filler = (0..60).map(|n| format!("<li class=\"c{n}\">Item {n}</li>\n")).collect::<Vec<_>>().concat();
    format!("<html><input name=\"n\" value=\"{nonce}\">{filler}<b>{price}</b>{filler}<!-- {ms} ms --></html>")
}

fn differs(stored: &str, noise: &Noise, rendered: &str) -> Option<(String, String)> {
    let found = noise.compare(stored.as_bytes(), rendered.as_bytes(), false).err()?;
    Some((stored[found.stored].to_owned(), rendered[found.rendered].to_owned()))
}

#[test]
fn only_differences_outside_of_the_noise_are_reported() {
    let [first, second] = [page("Ab3dE6gH", "0.5", "9 EUR"), page("Zz9xY8wV", "112", "9 EUR")];
    let noise = Noise::between(first.as_bytes(), second.as_bytes()).unwrap();
    assert_eq!(noise.0.len(), 2);
    assert_eq!(differs(&second, &noise, &page("Qq1wW2eE", "7.25", "9 EUR")), None);
    assert_eq!(differs(&second, &noise, &page("Qq1wW2eE", "7.25", "8 EUR")), Some(("9".into(), "8".into())));
    assert_eq!(
        differs(&second, &Noise::default(), &page("Qq1wW2eE", "112", "9 EUR")),
        Some(("Zz9xY8wV".into(), "Qq1wW2eE".into()))
    );
}

#[test]
fn noise_at_the_start_and_the_end_may_be_empty() {
    for (first, second, third) in [
        ("a b c d e f", "x y a b c d e f", "a b c d e f"),
        ("a b c d e f", "a b c d e f x", "a b c d e f y z"),
    ] {
        let noise = Noise::between(first.as_bytes(), second.as_bytes()).unwrap();
        assert_eq!(differs(second, &noise, third), None, "{second} {third}");
        assert_eq!(differs(second, &noise, first), None);
        assert!(differs(second, &noise, &third.replace('d', "D")).is_some());
    }
}

#[test]
fn places_with_noise_move_with_their_rendering() {
    let (first, second) = ("a b c 1 d e f 2 g h i", "a b c 1 1 1 d e f 3 g h i");
    let noise = Noise::between(first.as_bytes(), second.as_bytes()).unwrap();
    let third = "a b c 1 d e f 4 g h i";
    let moved = noise.compare(second.as_bytes(), third.as_bytes(), false).unwrap();
    assert_eq!(differs(third, &moved, "a b c 1 7 8 d e f 5 g h i"), None);
    assert!(differs(third, &moved, "a b c 1 7 8 d e F 5 g h i").is_some());
}

#[test]
fn text_that_is_added_or_removed_outside_of_the_noise_is_found() {
    let stored = page("Ab3dE6gH", "1", "9 EUR");
    let noise = Noise::between(page("Zz9xY8wV", "2", "9 EUR").as_bytes(), stored.as_bytes()).unwrap();
    assert!(differs(&stored, &noise, &page("Ab3dE6gH", "1", "9 EUR <i>sale</i>")).is_some());
    assert!(differs(&stored, &noise, &page("Ab3dE6gH", "1", "")).is_some());
    assert!(differs(&stored, &noise, &format!("{stored}<p>more</p>")).is_some());
    assert!(differs(&stored, &noise, &stored[..stored.len() - 7]).is_some());
}

#[test]
fn random_ids_differ_without_being_a_change_and_numbers_do_not() {
    let none = Noise::default();
    assert_eq!(differs("n=1a2b3c4d5e", &none, "n=99ffee0011"), None);
    for (a, b) in
        [("n=2026112912", "n=2026113012"), ("n=1a2b3c", "n=9a2b3c"), ("n=1a2b3c4d5e", "n=1a2b3c4d5")]
    {
        assert!(differs(a, &none, b).is_some(), "{a} {b}");
    }
}

#[test]
fn page_that_differs_too_much_has_no_noise() {
    let random: Vec<String> = (0..400).map(|n| format!("w{n}")).collect();
    let other: Vec<String> = (0..400).map(|n| format!("v{n}")).collect();
    assert_eq!(Noise::between(random.join(" ").as_bytes(), other.join(" ").as_bytes()), None);
    let long = vec![b'x'; MAX_COMPARED_LEN + 1];
    assert_eq!(Noise::between(&long, b"x"), None);
    assert!(Noise::default().compare(&long, b"x", false).is_err());
}

#[test]
fn noise_round_trips_and_damaged_bytes_are_refused() {
    let noise =
        Noise::between(page("Ab3dE6gH", "1", "").as_bytes(), page("Zz9xY8wV", "2.5", "").as_bytes()).unwrap();
    let mut bytes = Vec::new();
    noise.encode(&mut bytes);
    assert_eq!(Noise::decode(&bytes), Some(noise));
    assert_eq!(Noise::decode(&bytes[1..]), None);
    let mut reversed = bytes[7..].to_vec();
    reversed.extend_from_slice(&bytes[..7]);
    assert_eq!(Noise::decode(&reversed), None);
}

/// Compares random pages with random noise: there is no panic, equal pages are equal, and decoded places of any value
/// are handled.
#[test]
fn arbitrary_pages_and_places_are_compared_without_panic() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut text =
            || -> Vec<u8> { (0..random.usize(..200)).map(|_| b"ab <\xc3\xa9"[random.usize(..6)]).collect() };
        let (a, b) = (text(), text());
        let noise = Noise::between(&a, &b).unwrap_or_default();
        if !noise.is_empty() || a == b {
            assert_eq!(noise.compare(&b, &b, false), Ok(noise.clone()), "seed {seed}");
        }
        let bytes: Vec<u8> = (0..7 * random.usize(..4)).map(|_| random.u8(..)).map(|byte| byte % 3).collect();
        if let Some(noise) = Noise::decode(&bytes) {
            drop(noise.compare(&a, &b, false));
        }
    }
}

#[test]
fn decimal_numbers_of_pages_with_counters_are_not_compared() {
    let page = |views: &str, rest: &str| format!("<p>{views} views</p><p>{rest}</p>").into_bytes();
    let compare = |a: &[u8], b: &[u8], ignores| Noise::default().compare(a, b, ignores).is_ok();
    assert!(compare(&page("9", "text"), &page("10", "text"), true));
    assert!(!compare(&page("9", "text"), &page("10", "text"), false));
    assert!(!compare(&page("9", "text"), &page("no", "text"), true));
    assert!(!compare(&page("9", "text"), &page("10", "other"), true));
}
