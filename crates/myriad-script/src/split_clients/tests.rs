use super::*;
use crate::frame::Frame;
use crate::testing::{Request, compiler};

#[test]
fn hashes_are_murmur_hash_2() {
    // Values from the reference implementation with seed 0.
    for (text, hash) in [("", 0), ("a", 0x9268_5f5e), ("abc", 0x1357_7c9b)] {
        assert_eq!(murmur_hash2(text.as_bytes()), hash, "{text}: {:x}", murmur_hash2(text.as_bytes()));
    }
}

#[test]
fn shares_match_percentages_over_many_clients() {
    let mut compiler = compiler();
    compiler.declare_lazy("$variant").unwrap();
    let template = compiler.template("$variant").unwrap();
    let lines = [vec!["10%", "a"], vec!["2.5%", "b"], vec!["*", "c"]];
    compiler.define_split_clients("$variant", "${remote_addr}AAA", &lines).unwrap();
    let mut request = Request::new(compiler.finish().unwrap());
    let mut frame = Frame::new();
    let mut counts = [0_i32; 3];
    for client in 0..20_000 {
        request = request.with("remote_addr", &format!("10.0.{}.{}", client / 256, client % 256));
        frame.reset();
        let mut out = Vec::new();
        template.eval(&request, &mut frame, &mut out).unwrap();
        counts[usize::from(out[0] - b'a')] += 1;
    }
    assert!((counts[0] - 2000).abs() < 200 && (counts[1] - 500).abs() < 120, "{counts:?}");
    assert_eq!(counts.iter().sum::<i32>(), 20_000);
}

#[test]
fn what_no_part_takes_is_empty() {
    let mut compiler = compiler();
    compiler.declare_lazy("$variant").unwrap();
    let template = compiler.template("$variant").unwrap();
    compiler.define_split_clients("$variant", "$host", &[vec!["0.01%", "a"]]).unwrap();
    let request = Request::new(compiler.finish().unwrap()).with("host", "abc");
    let mut out = Vec::new();
    template.eval(&request, &mut Frame::new(), &mut out).unwrap();
    assert_eq!(out, b"");
}

#[test]
fn wrong_shares_are_refused() {
    for share in
        ["", "%", "10", "0%", "0.00%", "101%", "1.234%", "-1%", "a%", "1.%%", "99999999999999999999%"]
    {
        let errors = compiler().define_split_clients("$variant", "$host", &[vec![share, "a"]]).unwrap_err();
        assert_eq!(errors[0].message, format!("invalid percent value \"{share}\""));
    }
    let lines = [vec!["60%", "a"], vec!["40.01%", "b"]];
    let errors = compiler().define_split_clients("$variant", "$host", &lines).unwrap_err();
    assert_eq!((errors[0].item, errors[0].message.as_str()), (Some(1), "percent total is greater than 100%"));
}
