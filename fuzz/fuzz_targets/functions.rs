//! Text functions: output can be decoded again and is bounded, and no input causes a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_script::functions::base32::Base32;
use myriad_script::functions::{
    ConstantInputs, Function, coding, dates, digest, escape, quote, random, rotate, upstream_list,
};

fn call(function: &Function, texts: &[&[u8]]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    function.call(texts, &ConstantInputs, &mut out).ok()?;
    let given: usize = texts.iter().map(|text| text.len()).sum();
    assert!(out.len() <= given * 10 + 256);
    Some(out)
}

fuzz_target!(|input: (Vec<u8>, Vec<u8>, Vec<u8>)| {
    let texts = [&input.0[..], &input.1, &input.2];
    let base32 = Base32::default();
    let pairs = [
        (Function::of_any(coding::encode_hex), Function::of(coding::decode_hex)),
        (Function::of_any(coding::encode_base64), Function::of(coding::decode_base64)),
        (Function::of_any(coding::encode_base64url), Function::of(coding::decode_base64url)),
        (Function::of_any(escape::escape_uri), Function::of_any(escape::unescape_uri)),
        (base32.clone().encoder(), base32.decoder()),
    ];
    for (write, read) in &pairs {
        let written = call(write, &texts).expect("every text can be written");
        assert_eq!(call(read, &[&written]).as_deref(), Some(texts[0]));
        call(read, &texts);
    }
    for function in [quote::sql, quote::pgsql, quote::json, digest::md5, digest::sha1] {
        call(&Function::of_any(function), &texts);
    }
    for function in [digest::hmac_sha1, digest::hmac_sha256] {
        call(&Function::of(function), &texts);
    }
    for function in
        [random::between, random::letters_and_digits, dates::local_today, dates::gmt, dates::local]
    {
        call(&Function::of_varying(function), &texts);
    }
    let round = rotate::rotate();
    call(&round, &texts);
    call(&round, &texts);
    if let Ok(list) = upstream_list::UpstreamList::read(&texts) {
        call(&upstream_list::hashed(vec![list]), &texts);
    }
});
