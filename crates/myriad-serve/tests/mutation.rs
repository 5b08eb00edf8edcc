//! Test that no input makes the parser panic or hang: it parses random mutations of configurations.

mod lexer_properties;

use std::{fs, path::Path, time::Instant};

use myriad_conf::{MemoryLoader, build, dump, render};

/// Texts that are inserted into configurations, so that the result is nearly valid.
const PIECES: [&[u8]; 24] = [
    b"{",
    b"}",
    b";",
    b"\"",
    b"'",
    b"\\",
    b"$",
    b"${",
    b"#",
    b"\n",
    b" ",
    b"(",
    b")",
    b"~",
    b"@",
    b"=",
    b"\xff",
    b"\0",
    b"include nginx.conf;",
    b"include *;",
    b"99999999999999999999",
    b"-1",
    b"\xe2\x80\x9c",
    b"if ($a) {",
];

/// Returns valid and invalid configurations that are mutated.
fn seeds() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let read = |entry: fs::DirEntry| (entry.file_name(), fs::read(entry.path()).unwrap());
    let all: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| read(entry.unwrap())).collect();
    let (sound, broken): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(name, _)| name.to_string_lossy().starts_with("recipe"));
    let texts = |list: Vec<(_, Vec<u8>)>| list.into_iter().map(|(_, text)| configuration(&text)).collect();
    (texts(sound), texts(broken))
}

/// Returns a golden file without its expected findings.
fn configuration(text: &[u8]) -> Vec<u8> {
    let mark = b"### findings\n";
    let end = text.windows(mark.len()).position(|window| window == mark).unwrap_or(text.len());
    text[..end].to_vec()
}

fn mutate(random: &mut fastrand::Rng, text: &mut Vec<u8>) {
    let at = random.usize(..=text.len());
    match random.u8(..5) {
        0 => text.truncate(at),
        1 => drop(text.splice(at..at, PIECES[random.usize(..PIECES.len())].iter().copied())),
        2 => {
            let end = (at + random.usize(..40)).min(text.len());
            text.drain(at..end);
        }
        3 => {
            let end = (at + random.usize(..200)).min(text.len());
            let copy = text[at..end].to_vec();
            let to = random.usize(..=text.len());
            text.splice(to..to, copy);
        }
        _ => {
            if let Some(byte) = text.get_mut(at) {
                *byte = random.u8(..);
            }
        }
    }
}

/// Parses a text, builds its model, and renders all errors and warnings. Returns true if the model is valid.
fn exercise(text: &[u8]) -> bool {
    let loader = MemoryLoader::with("/conf/nginx.conf", text);
    let parsed = myriad_serve::registry().parse(&loader, Path::new("/conf/nginx.conf"), b"");
    assert!(dump(&parsed).len() >= text.len());
    lexer_properties::check(&parsed, &parsed.nodes);
    match build(&parsed, myriad_serve::registry()) {
        Ok(model) => {
            assert_eq!(parsed.errors, []);
            model.warnings.iter().for_each(|warning| assert!(render(&parsed, warning).ends_with('\n')));
            true
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in errors {
                let text = render(&parsed, &error);
                assert!(text.starts_with("error: ") || text.starts_with("warning: "));
                assert!(text.lines().all(|line| line.chars().count() < 400), "{text}");
            }
            false
        }
    }
}

#[test]
fn mutated_configurations_never_panic_nor_hang() {
    let (recipes, errors) = seeds();
    let (mut sound, mut broken) = (0, 0);
    let start = Instant::now();
    for seed in 0..1500 {
        let mut random = fastrand::Rng::with_seed(seed);
        let corpus = if random.bool() { &recipes } else { &errors };
        let mut text = corpus[random.usize(..corpus.len())].clone();
        for _ in 0..random.usize(1..5) {
            mutate(&mut random, &mut text);
        }
        if exercise(&text) {
            sound += 1;
        } else {
            broken += 1;
        }
    }
    assert!(sound > 50 && broken > 500, "{sound} sound, {broken} broken");
    assert!(start.elapsed().as_secs() < 120);
}

#[test]
fn noise_never_panics() {
    for seed in 0..2000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let length = random.usize(..400);
        let text: Vec<u8> = (0..length)
            .flat_map(
                |_| if random.bool() { PIECES[random.usize(..18)].to_vec() } else { vec![random.u8(..)] },
            )
            .collect();
        exercise(&text);
    }
}
