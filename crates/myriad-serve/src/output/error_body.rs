//! The page for an error that no `error_page` answers.

use myriad_http::head::reason_phrase;

/// The HTML of a status, signed with the server's name.
pub(crate) fn error_body(status: u16, server: &str) -> Vec<u8> {
    let title = match status {
        401 => "401 Authorization Required".to_owned(),
        494 => "400 Request Header Or Cookie Too Large".to_owned(),
        497 => "400 The plain HTTP request was sent to HTTPS port".to_owned(),
        status => format!("{status} {}", reason_phrase(status)),
    };
    let title = title.trim_end();
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
