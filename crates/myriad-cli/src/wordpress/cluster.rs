//! `--cluster`: purges are exchanged with the other nodes of a cluster.

use std::path::Path;

use super::quoting::quoted;

/// Name of the cluster in the configuration, and the first part of its keys in Valkey.
const NAME: &str = "myriad";
/// Name of the file in the prefix with the secret that all nodes share.
const SECRET: &str = "cluster.secret";
/// Name of the file in the prefix with the password of Valkey; optional.
const PASSWORD: &str = "cluster.password";

/// Returns the `cluster` block for the Valkey servers of `--cluster`; empty without servers. The password is read from a
/// file, if it exists, because other users of the machine can read command lines.
///
/// # Errors
/// Returns an error text if a URL contains a password, or if the file with the secret is missing.
pub(super) fn block(servers: &[String], prefix: &Path) -> Result<String, String> {
    if servers.is_empty() {
        return Ok(String::new());
    }
    let (secret, password) = (prefix.join(SECRET), prefix.join(PASSWORD));
    if servers.iter().any(|server| server.contains('@')) {
        return Err(format!(
            "wordpress: --cluster must not contain a password: write it to {}, which only the user of the workers may read",
            password.display()
        ));
    }
    if !secret.exists() {
        return Err(format!(
            "wordpress: --cluster needs the secret of the cluster in {}: create it on one node with \"openssl rand -hex 32\" and copy it to all nodes",
            secret.display()
        ));
    }
    let mut lines = vec![format!("cluster {NAME} {{")];
    for server in servers {
        lines.push(format!("    server {};", quoted(Path::new(server))?));
    }
    if password.exists() {
        lines.push(format!("    password_file {};", quoted(&password)?));
    }
    lines.push(format!("    secret_file {};", quoted(&secret)?));
    lines.push("}".to_owned());
    Ok(lines.join("\n    "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_names_the_files_of_the_prefix() {
        let folder = std::env::temp_dir().join(format!("myriad-cluster-block-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let servers = ["redis://10.0.0.5".to_owned()];
        assert_eq!(block(&[], &folder), Ok(String::new()));
        let error = block(&servers, &folder).expect_err("no secret");
        assert!(error.contains("cluster.secret: create it on one node"), "{error}");
        std::fs::write(folder.join(SECRET), "0123456789abcdef0123456789abcdef").expect("written");
        let text = block(&servers, &folder).expect("a block");
        assert!(text.contains("server redis://10.0.0.5;") && !text.contains("password_file"), "{text}");
        std::fs::write(folder.join(PASSWORD), "secret").expect("written");
        assert!(block(&servers, &folder).expect("a block").contains("password_file"));
        let error = block(&["redis://user:secret@10.0.0.5".to_owned()], &folder).expect_err("a password");
        assert!(error.contains("must not contain a password"), "{error}");
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
