//! Runs programs from mutated texts over a range of seeds, like the fuzz target `rewrite`, but on the stable compiler.

mod programs;

/// Valid programs, which are mutated.
const SEEDS: [&str; 5] = [
    "a/b?c=d\nset\t$x\t${arg_c}z\nif\t($x\t~*\t^(d+)z$)\nrewrite\t^/(.*)$\t/$1?y=$x\tlast\nend\nreturn\t200\t$uri$is",
    "wp-admin\nrewrite\t/wp-admin$\thttp://h$uri/\tpermanent",
    "x%20y\nset\t$args\ta=$uri\nrewrite\t^\t/n?$args?\nbreak",
    "a\nif\t(-f\t/x$uri)\nreturn\t301\t/$uri\nend\nif\t($uri\t=\t/a)\nset\t$a\t$a$a$a\nend\nreturn\t302\thttp://x/$a",
    "(a\nrewrite\t\"^/(?<n>.)(.)?\"\t/$n$2$9\nif\t($n\t!~\t\\d)\nbreak\nend\nreturn\t404",
];

const PIECES: [&str; 20] = [
    "$", "${", "}", "$1", "$uri", "\t", "\n", "?", "(", ")", "[", "\\", "\r", "\u{0}", "%", "end",
    "if\t($a)", "last", "break", "é",
];

#[test]
fn no_program_panics_or_leaves_a_request_broken() {
    for seed in 0..4000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut text: Vec<char> = SEEDS[random.usize(..SEEDS.len())].chars().collect();
        for _ in 0..random.usize(1..8) {
            let at = random.usize(..=text.len());
            match random.u8(..4) {
                0 => drop(text.splice(at..at, PIECES[random.usize(..PIECES.len())].chars())),
                1 => {
                    let end = (at + random.usize(..6)).min(text.len());
                    text.drain(at..end);
                }
                2 => {
                    let other: Vec<char> = SEEDS[random.usize(..SEEDS.len())].chars().collect();
                    let end = random.usize(..=other.len());
                    text.splice(at..at, other[..end].iter().copied());
                }
                _ => {
                    let end = (at + random.usize(..30)).min(text.len());
                    let copy = text[at..end].to_vec();
                    text.splice(at..at, copy);
                }
            }
        }
        programs::run(&text.iter().collect::<String>());
    }
}

#[test]
fn the_seeds_are_programs_that_run() {
    for seed in SEEDS {
        programs::run(seed);
    }
}
