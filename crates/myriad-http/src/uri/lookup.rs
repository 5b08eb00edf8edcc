//! Arguments and cookies by name: nginx's `$arg_name` and `$cookie_name`.

/// Returns the value, not decoded, of the first argument in `query` called `name`, ignoring case; `None` if there is
/// none. As in nginx, an argument without `=` is not found.
pub fn arg<'a>(query: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    query.split(|&byte| byte == b'&').find_map(|argument| {
        let (own, rest) = argument.split_at_checked(name.len())?;
        if !own.eq_ignore_ascii_case(name) {
            return None;
        }
        rest.strip_prefix(b"=")
    })
}

/// Returns the value, not decoded, of the first cookie called `name`, ignoring case, in the value of one `Cookie` field
/// (RFC 6265 §4.2); `None` if there is none.
pub fn cookie<'a>(header: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    header.split(|&byte| byte == b';').find_map(|cookie| {
        let (own, rest) = trim_start(cookie).split_at_checked(name.len())?;
        if !own.eq_ignore_ascii_case(name) {
            return None;
        }
        trim_start(rest).strip_prefix(b"=").map(trim_start)
    })
}

fn trim_start(mut text: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] = text {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_argument_of_the_name_counts() {
        let query = b"a=1&bb=2&B=3&c&d=&aa=x%20y&a=9";
        assert_eq!(arg(query, b"a"), Some(&b"1"[..]));
        assert_eq!(arg(query, b"b"), Some(&b"3"[..]));
        assert_eq!(arg(query, b"BB"), Some(&b"2"[..]));
        assert_eq!(arg(query, b"c"), None);
        assert_eq!(arg(query, b"d"), Some(&b""[..]));
        assert_eq!(arg(query, b"aa"), Some(&b"x%20y"[..]));
        assert_eq!(arg(query, b"e"), None);
        assert_eq!(arg(b"", b"a"), None);
        assert_eq!(arg(b"u=a=b", b"u"), Some(&b"a=b"[..]));
    }

    #[test]
    fn the_first_cookie_of_the_name_counts() {
        let header = b"wp=1; wordpress_logged_in_ab=admin%7C1; x; WP=2;y = z;e=";
        assert_eq!(cookie(header, b"wp"), Some(&b"1"[..]));
        assert_eq!(cookie(header, b"Wordpress_Logged_In_AB"), Some(&b"admin%7C1"[..]));
        assert_eq!(cookie(header, b"wordpress_logged_in"), None);
        assert_eq!(cookie(header, b"x"), None);
        assert_eq!(cookie(header, b"y"), Some(&b"z"[..]));
        assert_eq!(cookie(header, b"e"), Some(&b""[..]));
        assert_eq!(cookie(b"a=b=c", b"a"), Some(&b"b=c"[..]));
        assert_eq!(cookie(b"", b"a"), None);
    }
}
