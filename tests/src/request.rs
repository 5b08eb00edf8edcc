//! Requests as bytes.

/// Request; with `Host: localhost` unless a host is set.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

impl Request {
    /// Creates a request with any method.
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.into(), target: target.into(), fields: Vec::new(), body: None }
    }

    /// Creates a `GET` request.
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// Creates a `HEAD` request.
    pub fn head(target: &str) -> Self {
        Self::new("HEAD", target)
    }

    /// Creates a `POST` request with a body and its length.
    pub fn post(target: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: Some(body.into()), ..Self::new("POST", target) }
    }

    /// Changes the method.
    #[must_use]
    pub fn by(self, method: &str) -> Self {
        Self { method: method.into(), ..self }
    }

    /// Adds a field.
    #[must_use]
    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Sets the host name.
    #[must_use]
    pub fn host(self, name: &str) -> Self {
        self.field("Host", name)
    }

    /// Sets `Accept-Encoding`.
    #[must_use]
    pub fn accepting(self, codings: &str) -> Self {
        self.field("Accept-Encoding", codings)
    }

    /// Returns the serialized request.
    pub fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        let mut line = |name: &str, value: &str| {
            text.extend([name, ": ", value, "\r\n"]);
        };
        if !self.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            line("Host", "localhost");
        }
        for (name, value) in &self.fields {
            line(name, value);
        }
        if let Some(body) = &self.body {
            line("Content-Length", &body.len().to_string());
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend(self.body.iter().flatten());
        bytes
    }
}
