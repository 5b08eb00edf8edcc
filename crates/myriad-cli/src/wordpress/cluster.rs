//! `--cluster`: purges and pages are exchanged with the other nodes of a cluster.

use std::io::ErrorKind;
use std::path::Path;

#[cfg(feature = "cluster")]
use myriad_admin::cluster::{ServerUrl, ServerUrlError};
#[cfg(not(feature = "cluster"))]
use myriad_conf::registry::BuildFeature;

use super::quoting::quoted;

/// Name of the cluster in the configuration, and the first part of its keys in Valkey.
const NAME: &str = "myriad";
/// Name of the file in the prefix with the secret that all nodes share.
const SECRET: &str = "cluster.secret";
/// Name of the file in the prefix with the user name for Valkey; optional.
const USERNAME: &str = "cluster.username";
/// Name of the file in the prefix with the name of this node; optional.
const NODE: &str = "cluster.node";
/// Name of the file in the prefix with the password of Valkey; optional.
const PASSWORD: &str = "cluster.password";

/// Adds a value of `--cluster` to the addresses of Valkey servers and Sentinels.
///
/// # Errors
/// Returns an error text if the address is invalid, without the address, which may contain a password; or if this build has
/// no clusters.
pub(super) fn add(servers: &mut Vec<String>, value: String) -> Result<(), String> {
    check(&value).map_err(|why| format!("wordpress: --cluster is invalid: {why}"))?;
    servers.push(value);
    Ok(())
}

/// Checks an address. Returns the reason if it is invalid.
#[cfg(feature = "cluster")]
fn check(value: &str) -> Result<(), String> {
    ServerUrl::parse(value).map(drop).map_err(|why| match why {
        ServerUrlError::Credentials => format!(
            "write the user name to PREFIX/{USERNAME} and the password to PREFIX/{PASSWORD}, which only the user of the workers may read"
        ),
        other => other.to_string(),
    })
}

/// Refuses every address, because this build has no clusters.
#[cfg(not(feature = "cluster"))]
fn check(_: &str) -> Result<(), String> {
    Err(BuildFeature::missing("cluster").map_or("", |feature| feature.refusal).to_owned())
}

/// Returns the `cluster` block for the Valkey servers of `--cluster`; empty without servers. The user name and the
/// password for Valkey are in files, if these exist, because other users of the machine can read command lines.
///
/// # Errors
/// Returns an error text if the file with the secret is missing, or a file with a name has no valid content.
pub(super) fn block(servers: &[String], prefix: &Path) -> Result<String, String> {
    if servers.is_empty() {
        return Ok(String::new());
    }
    let (secret, password) = (prefix.join(SECRET), prefix.join(PASSWORD));
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
    for (line, file, what) in
        [("username", USERNAME, "the user name for Valkey"), ("node", NODE, "the name of the node")]
    {
        if let Some(name) = read_name(&prefix.join(file), what)? {
            lines.push(format!("    {line} {};", quoted(Path::new(&name))?));
        }
    }
    if password.exists() {
        lines.push(format!("    password_file {};", quoted(&password)?));
    }
    lines.push(format!("    secret_file {};", quoted(&secret)?));
    lines.push("}".to_owned());
    Ok(lines.join("\n    "))
}

/// Reads a file with the name of `what`, without leading and trailing white space; `None` if the file does not exist.
fn read_name(file: &Path, what: &str) -> Result<Option<String>, String> {
    let read = std::fs::read_to_string(file);
    let name = read.as_deref().unwrap_or_default().trim();
    let why = match &read {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => error.to_string(),
        Ok(_) if name.is_empty() => "it is empty".to_owned(),
        Ok(_) if name.contains(|c: char| c == '$' || c.is_whitespace() || c.is_control()) => {
            "a name must not contain white space, control characters or `$`".to_owned()
        }
        Ok(_) => return Ok(Some(name.to_owned())),
    };
    Err(format!("wordpress: --cluster: {what} cannot be read from {}: {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "cluster")]
    #[test]
    fn invalid_address_is_refused_without_being_shown() {
        let mut servers = Vec::new();
        for (value, why) in [
            ("http://10.0.0.5", "the scheme must be redis://"),
            ("redis://user:word@10.0.0.5", "write the user name to PREFIX/cluster.username"),
            ("redis://10.0.0.5:word", "the port must be a number"),
            ("sentinels://10.0.0.5", "for a Sentinel, the name of the master"),
        ] {
            let error = add(&mut servers, value.to_owned()).expect_err("an invalid address");
            assert!(error.starts_with("wordpress: --cluster is invalid: "), "{error}");
            assert!(error.contains(why) && !error.contains("word@"), "{error}");
        }
        assert!(servers.is_empty());
        add(&mut servers, "sentinels://10.0.0.5/main".to_owned()).expect("a valid address");
        assert_eq!(servers, ["sentinels://10.0.0.5/main"]);
    }

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
        std::fs::write(folder.join(USERNAME), " shop \n").expect("written");
        assert!(block(&servers, &folder).expect("a block").contains("    username shop;\n"));
        std::fs::write(folder.join(NODE), "web2\n").expect("written");
        assert!(block(&servers, &folder).expect("a block").contains("    node web2;\n"));
        for file in [NODE, USERNAME] {
            for (content, why) in [("\n", "it is empty"), ("shop\nword", "must not contain white space")] {
                std::fs::write(folder.join(file), content).expect("written");
                let error = block(&servers, &folder).expect_err("no name");
                assert!(error.contains(&format!("{file}: ")) && error.contains(why), "{error}");
            }
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
