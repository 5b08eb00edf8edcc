//! Connections to Valkey or Redis, and the execution of a node's commands.

use std::time::Duration;

use myriad_base::digits::decimal;
use myriad_cluster::node::{ClusterCommand, CommandError, CommandReply, LogEntry};
use myriad_cluster::record::{EntryId, NodeName};
use redis::aio::{MultiplexedConnection, PubSub};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ErrorKind, FromRedisValue, IntoConnectionInfo,
    RedisConnectionInfo, RedisError, RedisResult, ServerErrorKind, TlsCertificates, Value, cmd,
};

use super::link_error::LinkError;
use super::options::ClusterOptions;
use super::page_commands::{self, PageConnection};
use super::secret_commands::SecretConnection;
use super::server_memory::ServerMemory;
use super::server_url::ServerUrl;

/// Maximum time for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time for the reply to a command that does not wait.
const REPLY_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time for the reply to a blocking read, in addition to the waiting time of the read.
const READ_GRACE: Duration = Duration::from_secs(3);
/// Approximate maximum number of receipts stored for a node; the oldest are removed.
const MAX_RECEIPTS: usize = 1000;
/// Time after which unread receipts are removed, in seconds.
const RECEIPTS_EXPIRE_S: u32 = 3600;

/// Appends a record if the newest entry of the log is the expected one. `ARGV`: ID of the new entry, ID of the expected
/// newest entry (empty for an empty log), the last bytes of that entry's record, the new record, and the
/// approximate maximum number of records in the log. Returns `OK`, or the largest ID that was ever in the log.
const APPEND: &str = "\
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local last = '0-0'
if redis.call('EXISTS', KEYS[1]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = info[i + 1] end
  end
end
if newest then
  local value = newest[2][2] or ''
  if newest[1] ~= ARGV[2] or string.sub(value, -#ARGV[3]) ~= ARGV[3] then return last end
elseif ARGV[2] ~= '' then
  return last
end
local added = redis.pcall('XADD', KEYS[1], 'MAXLEN', '~', ARGV[5], ARGV[1], 'r', ARGV[4])
if type(added) == 'table' and added.err then
  if string.find(added.err, 'equal or smaller') then return last end
  return added
end
return 'OK'";

/// Names of a cluster's keys. All have the same hash tag, so that a Redis Cluster stores them on one server.
#[derive(Clone, Debug)]
pub(super) struct KeyNames {
    prefix: String,
}

impl KeyNames {
    pub(super) fn prefix(cluster: &str) -> String {
        format!("myriad:{{{cluster}}}:")
    }

    fn of(cluster: &str) -> Self {
        Self { prefix: Self::prefix(cluster) }
    }

    /// Returns the name of the channel on which nodes publish their use of limits.
    pub(super) fn limits_channel(cluster: &str, server: &ServerUrl) -> String {
        Self::channel(cluster, "limits", server)
    }

    /// Returns the name of a channel. It has the number of the database, because channels, unlike keys, do not belong to
    /// one: clusters with the same name may use several databases of a server.
    fn channel(cluster: &str, name: &str, server: &ServerUrl) -> String {
        format!("{}{name}:{}", Self::prefix(cluster), server.database)
    }

    fn purges(&self) -> String {
        format!("{}purges", self.prefix)
    }

    fn members(&self) -> String {
        format!("{}members", self.prefix)
    }

    fn receipts(&self, node: &str) -> String {
        format!("{}receipts:{node}", self.prefix)
    }
}

/// Two connections to the server that is the primary: one for commands, and one for reads that wait.
pub(super) struct ValkeyLink {
    pub server: ServerUrl,
    pub commands: CommandConnection,
    pub reads: CommandConnection,
    /// Memory limit of the server; `None` if it is not known.
    pub memory: Option<ServerMemory>,
}

impl ValkeyLink {
    /// Connects to the first address of the options that is reachable and leads to a primary.
    ///
    /// # Errors
    /// Returns the reason for each address.
    pub(super) async fn connect(options: &ClusterOptions) -> Result<Self, LinkError> {
        let mut failures = Vec::new();
        for server in &options.servers {
            match Self::connect_to(options, server).await {
                Ok(link) => return Ok(link),
                Err(LinkError { why, .. }) => failures.push(format!("{server}: {why}")),
            }
        }
        Err(LinkError::new(failures.join("; ")))
    }

    async fn connect_to(options: &ClusterOptions, server: &ServerUrl) -> Result<Self, LinkError> {
        let primary = match &server.sentinel_master {
            None => server.clone(),
            Some(master) => primary_of(options, server, master).await?,
        };
        let keys = KeyNames::of(&options.name);
        let mut commands = open(options, &primary).await?;
        // A Redis Cluster answers with the address of the server that stores the keys.
        let primary = match cmd("XLEN").arg(keys.purges()).query_async::<u64>(&mut commands).await {
            Ok(_) => primary,
            Err(error) => match error.redirect_node() {
                None if error.is_io_error() || error.is_timeout() => return Err(error.into()),
                None => return Err(LinkError::new(command_error(&error).to_string())),
                Some((address, _)) => redirected(&primary, address)
                    .ok_or_else(|| LinkError::new(format!("invalid redirection to \"{address}\"")))?,
            },
        };
        let connection =
            |connection| CommandConnection { connection, keys: keys.clone(), node: options.node.clone() };
        let mut commands = open(options, &primary).await?;
        Ok(Self {
            memory: ServerMemory::read(&mut commands).await,
            commands: connection(commands),
            reads: connection(open(options, &primary).await?),
            server: primary,
        })
    }
}

/// Opens the connection for pages, and subscribes to the notifications about released leases.
pub(super) async fn connect_pages(
    options: &ClusterOptions,
    server: &ServerUrl,
) -> Result<(PageConnection, PubSub), LinkError> {
    let prefix = KeyNames::prefix(&options.name);
    let channel = KeyNames::channel(&options.name, "fetched", server);
    let connection = open_with(options, server, page_commands::REPLY_TIMEOUT).await?;
    let released = subscribe(options, server, &channel).await?;
    Ok((PageConnection { connection, prefix, channel }, released))
}

/// Opens the connection for messages about limits, and subscribes to those of all nodes.
pub(super) async fn connect_limits(
    options: &ClusterOptions,
    server: &ServerUrl,
) -> Result<(MultiplexedConnection, PubSub), LinkError> {
    let connection = open_with(options, server, page_commands::REPLY_TIMEOUT).await?;
    let messages = subscribe(options, server, &KeyNames::limits_channel(&options.name, server)).await?;
    Ok((connection, messages))
}

/// Opens a connection, and subscribes to a channel.
async fn subscribe(options: &ClusterOptions, server: &ServerUrl, channel: &str) -> Result<PubSub, LinkError> {
    let client = client(options, server)?;
    let subscribing = async {
        let mut messages = client.get_async_pubsub().await?;
        messages.subscribe(channel).await?;
        Ok::<_, RedisError>(messages)
    };
    let subscribed = tokio::time::timeout(CONNECT_TIMEOUT, subscribing).await;
    Ok(subscribed.map_err(|_| LinkError::new("the server did not reply in time"))??)
}

/// Returns the address of the primary that a Sentinel reports.
async fn primary_of(
    options: &ClusterOptions,
    sentinel: &ServerUrl,
    master: &str,
) -> Result<ServerUrl, LinkError> {
    let mut connection = open(options, sentinel).await?;
    let mut question = cmd("SENTINEL");
    question.arg("GET-MASTER-ADDR-BY-NAME").arg(master);
    let answer: Option<(String, u16)> = question.query_async(&mut connection).await?;
    let (host, port) = answer
        .ok_or_else(|| LinkError::new(format!("the Sentinel does not monitor a master \"{master}\"")))?;
    Ok(ServerUrl { host, port, sentinel_master: None, ..sentinel.clone() })
}

/// Returns the address `HOST:PORT` of a redirection with the other settings of `from`; without a host, the host of
/// `from`.
fn redirected(from: &ServerUrl, address: &str) -> Option<ServerUrl> {
    let (host, port) = address.rsplit_once(':')?;
    let host = if host.is_empty() { from.host.clone() } else { host.to_owned() };
    Some(ServerUrl { host, port: decimal(port)?, ..from.clone() })
}

async fn open(options: &ClusterOptions, server: &ServerUrl) -> Result<MultiplexedConnection, LinkError> {
    open_with(options, server, REPLY_TIMEOUT).await
}

async fn open_with(
    options: &ClusterOptions,
    server: &ServerUrl,
    reply_timeout: Duration,
) -> Result<MultiplexedConnection, LinkError> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(reply_timeout));
    let connecting = client(options, server)?;
    let connection = connecting.get_multiplexed_async_connection_with_config(&config).await;
    connection.map_err(|error| match command_error(&error) {
        denied @ CommandError::Denied(_) => LinkError::new(denied.to_string()),
        _ => error.into(),
    })
}

fn client(options: &ClusterOptions, server: &ServerUrl) -> Result<Client, LinkError> {
    let address = if server.tls {
        ConnectionAddr::TcpTls {
            host: server.host.clone(),
            port: server.port,
            insecure: false,
            tls_params: None,
        }
    } else {
        ConnectionAddr::Tcp(server.host.clone(), server.port)
    };
    let mut settings = RedisConnectionInfo::default().set_lib_name("myriad", env!("CARGO_PKG_VERSION"));
    if server.sentinel_master.is_some() {
        if let Some(password) = &options.sentinel_password {
            settings = settings.set_password(password.as_str());
        }
    } else {
        settings = settings.set_db(i64::from(server.database));
        if let Some((username, password)) = &options.credentials {
            settings = settings.set_password(password.as_str());
            if let Some(username) = username {
                settings = settings.set_username(username);
            }
        }
    }
    let info = address.into_connection_info()?.set_redis_settings(settings);
    if server.tls {
        let certificates =
            TlsCertificates { client_tls: None, root_cert: options.trusted_certificates.clone() };
        Ok(Client::build_with_tls(info, certificates)?)
    } else {
        Ok(Client::open(info)?)
    }
}

/// Connection that executes the commands of a node.
#[derive(Clone)]
pub(super) struct CommandConnection {
    connection: MultiplexedConnection,
    keys: KeyNames,
    node: String,
}

impl CommandConnection {
    /// Returns a handle of this connection for encrypted values. Its commands are sent between those of the node.
    pub(super) fn secrets(&self) -> SecretConnection {
        SecretConnection { connection: self.connection.clone(), prefix: self.keys.prefix.clone() }
    }

    /// Executes a command.
    ///
    /// # Errors
    /// Returns an error if the connection is lost, or the server did not reply in time. An error that the server
    /// returned is a [`CommandReply::Failed`].
    pub(super) async fn execute(&mut self, command: &ClusterCommand) -> Result<CommandReply, LinkError> {
        if let ClusterCommand::Read { wait_ms, .. } = command {
            self.connection.set_response_timeout(READ_GRACE + Duration::from_millis(*wait_ms));
        }
        let reply = match self.run(command).await {
            Ok(reply) => reply,
            Err(error) if error.is_io_error() || error.is_unrecoverable_error() || error.is_timeout() => {
                return Err(error.into());
            }
            Err(error) => CommandReply::Failed(command_error(&error)),
        };
        Ok(reply)
    }

    async fn run(&mut self, command: &ClusterCommand) -> RedisResult<CommandReply> {
        match command {
            ClusterCommand::Read { after, receipts_after, limit, wait_ms } => {
                let mut read = cmd("XREAD");
                read.arg("COUNT").arg(*limit);
                if *wait_ms > 0 {
                    read.arg("BLOCK").arg(*wait_ms);
                }
                let (purges, receipts) = (self.keys.purges(), self.keys.receipts(&self.node));
                read.arg("STREAMS").arg(&purges).arg(&receipts);
                read.arg(after.to_string()).arg(receipts_after.to_string());
                let streams = parse_streams(self.query(&read).await?)?;
                let entries_of = |name: &str| {
                    let found = streams.iter().find(|(key, _)| key == name);
                    found.map(|(_, entries)| entries.clone()).unwrap_or_default()
                };
                Ok(CommandReply::Read { entries: entries_of(&purges), receipts: entries_of(&receipts) })
            }
            ClusterCommand::ReadBack { before, limit } => {
                let before = before.map_or_else(|| "+".to_owned(), |id| format!("({id}"));
                let mut read = cmd("XREVRANGE");
                read.arg(self.keys.purges()).arg(before).arg("-").arg("COUNT").arg(*limit);
                Ok(CommandReply::ReadBack(parse_entries(self.query(&read).await?)?))
            }
            ClusterCommand::Append { id, expected, record, max_records } => {
                let (newest, end) = match expected {
                    Some(tail) => (tail.id.to_string(), &tail.end[..]),
                    None => (String::new(), &[][..]),
                };
                let mut append = cmd("EVAL");
                append.arg(APPEND).arg(1).arg(self.keys.purges());
                append.arg(id.to_string()).arg(newest).arg(end).arg(record).arg(*max_records);
                let reply: String = self.query_as(&append).await?;
                Ok(match EntryId::parse(&reply) {
                    Some(last_id) => CommandReply::NotAppended { last_id },
                    None => CommandReply::Appended,
                })
            }
            ClusterCommand::ReadMembers => {
                let mut read = cmd("HGETALL");
                read.arg(self.keys.members());
                let fields: Vec<(Vec<u8>, Vec<u8>)> = self.query_as(&read).await?;
                let member = |(name, value): (Vec<u8>, Vec<u8>)| {
                    Some((NodeName::new(std::str::from_utf8(&name).ok()?).ok()?, value))
                };
                Ok(CommandReply::Members(fields.into_iter().filter_map(member).collect()))
            }
            ClusterCommand::WriteMember { record } => {
                let mut write = cmd("HSET");
                write.arg(self.keys.members()).arg(&self.node).arg(record);
                self.write(&write).await
            }
            ClusterCommand::ForgetMember { node, record } => {
                let mut write = cmd("HSET");
                write.arg(self.keys.members()).arg(node.as_str()).arg(record);
                self.write(&write).await
            }
            ClusterCommand::RemoveMember { node } => {
                let mut write = cmd("HDEL");
                write.arg(self.keys.members()).arg(node.as_str());
                self.write(&write).await
            }
            ClusterCommand::SendReceipt { to, record } => {
                let key = self.keys.receipts(to.as_str());
                let mut pipeline = redis::pipe();
                let add = pipeline.cmd("XADD").arg(&key).arg("MAXLEN").arg("~").arg(MAX_RECEIPTS).arg("*");
                add.arg("r").arg(record).ignore();
                pipeline.cmd("EXPIRE").arg(&key).arg(RECEIPTS_EXPIRE_S).ignore();
                pipeline.query_async::<()>(&mut self.connection).await?;
                Ok(CommandReply::Written)
            }
            ClusterCommand::Trim { before } => {
                let mut write = cmd("XTRIM");
                write.arg(self.keys.purges()).arg("MINID").arg("~").arg(before.to_string());
                self.write(&write).await
            }
        }
    }

    async fn query(&mut self, command: &Cmd) -> RedisResult<Value> {
        command.query_async(&mut self.connection).await
    }

    async fn query_as<T: FromRedisValue>(&mut self, command: &Cmd) -> RedisResult<T> {
        command.query_async(&mut self.connection).await
    }

    async fn write(&mut self, command: &Cmd) -> RedisResult<CommandReply> {
        self.query(command).await.map(|_| CommandReply::Written)
    }
}

/// Returns the class of an error that the server returned.
fn command_error(error: &RedisError) -> CommandError {
    let text = error.to_string();
    let code = error.code().unwrap_or_default();
    match (error.kind(), code) {
        (_, "OOM") => CommandError::OutOfMemory,
        (_, "NOAUTH" | "WRONGPASS" | "NOPERM") | (ErrorKind::AuthenticationFailed, _) => {
            CommandError::Denied(text)
        }
        (_, "READONLY" | "MASTERDOWN" | "LOADING" | "NOREPLICAS" | "CLUSTERDOWN" | "MOVED" | "ASK") => {
            CommandError::NotWritable
        }
        (
            ErrorKind::Server(
                ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown | ServerErrorKind::BusyLoading,
            ),
            _,
        ) => CommandError::NotWritable,
        (_, "WRONGTYPE") => CommandError::WrongType,
        (ErrorKind::UnexpectedReturnType, _) => CommandError::Unsupported(text),
        _ if text.contains("unknown command") => CommandError::Unsupported(text),
        _ => CommandError::Other(text),
    }
}

/// Parses the reply to `XREAD`: the names of streams, each with its entries. RESP2 sends a list of pairs, RESP3 a map,
/// and both nothing if there are no entries.
fn parse_streams(reply: Value) -> RedisResult<Vec<(String, Vec<LogEntry>)>> {
    let pairs = match reply {
        Value::Nil => Vec::new(),
        Value::Map(pairs) => pairs,
        other => {
            let pair = |value: Value| match value {
                Value::Array(mut pair) if pair.len() == 2 => {
                    let entries = pair.pop().unwrap_or(Value::Nil);
                    Ok((pair.pop().unwrap_or(Value::Nil), entries))
                }
                _ => Err(unexpected()),
            };
            array(other)?.into_iter().map(pair).collect::<RedisResult<_>>()?
        }
    };
    let stream = |(name, entries)| Ok((String::from_redis_value(name)?, parse_entries(entries)?));
    pairs.into_iter().map(stream).collect()
}

/// Parses entries of a stream: pairs of an ID and a list of names and values. An entry without the field `r` has an
/// empty record. Entries whose ID cannot be parsed are left out.
fn parse_entries(reply: Value) -> RedisResult<Vec<LogEntry>> {
    let entry = |value: Value| -> RedisResult<Option<LogEntry>> {
        let [id, fields] = <[Value; 2]>::try_from(array(value)?).map_err(|_| unexpected())?;
        let Some(id) = EntryId::parse(&String::from_redis_value(id)?) else { return Ok(None) };
        let fields: Vec<Vec<u8>> = match fields {
            Value::Nil => Vec::new(),
            fields => Vec::from_redis_value(fields)?,
        };
        let record = fields.chunks_exact(2).find(|field| field[0] == b"r").map(|field| field[1].clone());
        Ok(Some(LogEntry { id, record: record.unwrap_or_default() }))
    };
    let entries: RedisResult<Vec<_>> = array(reply)?.into_iter().map(entry).collect();
    Ok(entries?.into_iter().flatten().collect())
}

fn array(value: Value) -> RedisResult<Vec<Value>> {
    match value {
        Value::Array(values) => Ok(values),
        _ => Err(unexpected()),
    }
}

fn unexpected() -> RedisError {
    (ErrorKind::UnexpectedReturnType, "unexpected reply to a command for a stream").into()
}
