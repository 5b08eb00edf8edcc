//! The page for an error that no `error_page` answers.

use myriad_http::head::reason_phrase;

/// The HTML of a status, signed with the server's name; nothing for a status that has no name, as in nginx.
pub(crate) fn error_body(status: u16, server: &str) -> Vec<u8> {
    let title = match status {
        401 => "401 Authorization Required".to_owned(),
        494 => "400 Request Header Or Cookie Too Large".to_owned(),
        495 => "400 The SSL certificate error".to_owned(),
        496 => "400 No required SSL certificate was sent".to_owned(),
        497 => "400 The plain HTTP request was sent to HTTPS port".to_owned(),
        204 => return Vec::new(),
        status if reason_phrase(status).is_empty() => return Vec::new(),
        status => format!("{status} {}", reason_phrase(status)),
    };
    format!(
        "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n\
         <hr><center>{server}</center>\r\n</body>\r\n</html>\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_names_the_status_and_the_server() {
        let page = String::from_utf8(error_body(404, "Myriad")).unwrap();
        assert!(page.contains("<h1>404 Not Found</h1>") && page.contains("<center>Myriad</center>"));
    }
}
