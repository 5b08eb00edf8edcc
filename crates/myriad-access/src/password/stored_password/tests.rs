use super::*;

fn judge(stored: &str, password: &[u8]) -> PasswordMatch {
    StoredPassword::new(stored.as_bytes()).verify(password)
}

/// Entries generated with the system's `crypt`, `openssl passwd` and `htpasswd`.
const ENTRIES: &[(&str, &str)] = &[
    ("{PLAIN}password", "password"),
    ("{PLAIN}", ""),
    ("{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "password"),
    ("{SSHA}yI6cZwQadOA1e+/f+T+H3eCQQhRzYWx0", "password"),
    ("sa3tHJ3/KuYvI", "password"),
    ("abmF1QH4PEr.E", ""),
    ("zZb64kacvY9KA", "longer than eight"),
    ("zZb64kacvY9KA", "longer t"),
    ("./BP7hxAS9MMQ", "\u{e9}t\u{e9}"),
    ("$1$salt$qJH7.N4xYta3aEG/dfqo/0", "password"),
    ("$1$salt$UsdFqFVB.FsuinRDK5eE..", ""),
    ("$apr1$salt$Xxd1irWT9ycqoYxGFn4cb.", "password"),
    ("$apr1$saltsalt$g9/UfyEX/XVFzF3YOeL/00", "hello there"),
    ("$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5", "Hello world!"),
    (
        "$6$rounds=1000$saltsalt$Z/J9iYO1iE9xnr8JPQL57ZWsVRtVjrUv3CiWc/wKWseqXgSqn3HFYJ/Ng7YXa8XlLj.wpdAwHOJJzuGFqBBRa0",
        "password",
    ),
    ("$2y$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm", "password"),
];

#[test]
fn each_kind_knows_its_password_and_no_other() {
    for (stored, password) in ENTRIES {
        assert_eq!(judge(stored, password.as_bytes()), PasswordMatch::Match, "{stored}");
        assert_eq!(judge(stored, b"123"), PasswordMatch::Mismatch, "{stored}");
        assert_eq!(judge(stored, b"x"), PasswordMatch::Mismatch, "{stored}");
    }
}

#[test]
fn malformed_entries_admit_no_client() {
    let broken = [
        "$1$",
        "$apr1$",
        "$apr1$salt",
        "$apr1$salt$",
        "$5$",
        "$5$$",
        "$6$rounds=1$x$y",
        "$2y$",
        "$2y$04$",
        "$2y$99$x",
        "{SSHA}_____wQadOA1e+/f+T+H3eCQQhRzYWx0",
        "{SSHA}Zm9vCg==",
        "{SSHA}",
        "{SHA}",
        "{SHA}Zm9vCg==",
    ];
    for stored in broken {
        for password in [&b""[..], b"1", b"foo\n", b"password"] {
            assert_eq!(judge(stored, password), PasswordMatch::Mismatch, "{stored}");
        }
    }
}

#[test]
fn kinds_that_are_not_known_match_nothing() {
    for stored in ["", "password", "$y$j9T$x$y", "$argon2id$v=19$m=1", "$7$x"] {
        assert_eq!(judge(stored, stored.as_bytes()), PasswordMatch::Unknown, "{stored}");
    }
}

#[test]
fn cost_of_a_hash_does_not_grow_with_what_comes_from_outside() {
    let long = vec![b'x'; 100_000];
    for (stored, _) in ENTRIES {
        assert_eq!(judge(stored, &long), PasswordMatch::Mismatch, "{stored}");
    }
}

#[test]
fn a_zero_does_not_end_a_password() {
    assert_eq!(judge("sa3tHJ3/KuYvI", b"password\0x"), PasswordMatch::Mismatch);
    assert_eq!(
        judge("$2y$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm", b"password\0x"),
        PasswordMatch::Mismatch
    );
}

#[test]
fn no_entry_makes_trouble() {
    for seed in 0..400 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut entry = ENTRIES[random.usize(0..ENTRIES.len())].0.as_bytes().to_vec();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(0..entry.len());
            match random.u8(0..3) {
                0 => entry[at] = random.u8(..),
                1 => entry.truncate(at.max(1)),
                _ => entry.insert(at, random.u8(..)),
            }
        }
        // A mutated entry may still encode the same hash, because `crypt` ignores some bits. It must not match a
        // different password.
        let judged = StoredPassword::new(&entry).verify(b"a password of nobody");
        assert_ne!(judged, PasswordMatch::Match, "{}", entry.escape_ascii());
        let mut file = b"ann:".to_vec();
        file.extend_from_slice(&entry);
        let found = crate::password::find(&file, b"ann").expect("the user is there");
        assert!(entry.starts_with(found));
    }
}
