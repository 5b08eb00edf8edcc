//! HTML of the built-in error page.

use myriad_http::head::reason_phrase;

/// Returns the HTML page for a status, signed with the name of the server; for nginx's own codes 494 to 497, a page for
/// 400 that names the error. Returns an empty body for 201, 204 and statuses without a reason phrase, like nginx.
pub fn error_body(status: u16, server: &str) -> Vec<u8> {
    // nginx's own codes 494 to 497 are sent as 400, and the page describes the actual error.
    let reason = match status {
        494 => "Request Header Or Cookie Too Large",
        495 => "The SSL certificate error",
        496 => "No required SSL certificate was sent",
        497 => "The plain HTTP request was sent to HTTPS port",
        _ => "",
    };
    let (title, heading) = match status {
        302 => ("302 Found".to_owned(), None),
        401 => ("401 Authorization Required".to_owned(), None),
        494..=497 => (format!("400 {reason}"), Some("400 Bad Request")),
        201 | 204 => return Vec::new(),
        status if reason_phrase(status).is_empty() => return Vec::new(),
        status => (format!("{status} {}", reason_phrase(status)), None),
    };
    let heading = heading.unwrap_or(&title);
    let detail = if reason.is_empty() { String::new() } else { format!("<center>{reason}</center>\r\n") };
    format!(
        "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{heading}</h1></center>\r\n{detail}\
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
