//! [`Setup`]: the part of a connection before the first request: TLS, login, reader mode, compression.
//!
//! Every answer waited for here is a round trip before the first article, so nothing is asked that
//! can be done without: capabilities only for STARTTLS and for compression, and MODE READER only of a
//! server that says that it is in the wrong mode (RFC 3977, section 3.2.1).

use crate::capabilities::Capabilities;
use crate::event::{Ending, Moment};
use crate::login::Login;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::settings::Settings;

/// One command at a time, each waiting for its answer: INN hands the socket to another process at
/// MODE READER, and nothing may follow STARTTLS, so nothing here is pipelined.
#[derive(Debug)]
pub(crate) struct Setup {
    stage: Stage,
    login: Option<Login>,
    wants_tls: bool, // and does not have it yet
    compression: Compression,
    is_reader: bool,  // MODE READER was sent
    wrong_mode: bool, // a request was refused for want of it
    was_ready: bool,
    logins: u8,
    capabilities: Capabilities,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Compression {
    Wanted,
    /// The capabilities behind the login say whether it is offered.
    Asked,
    /// It is there, is not to be had, or is not wanted.
    Settled,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    Greeting,
    Capabilities,
    CapabilityList,
    ModeReader,
    StartTls,
    Handshake,
    UserName,
    Password,
    Compress,
    Deflate,
    Done,
}

/// What the machine does next.
#[derive(Debug)]
pub(crate) enum Step {
    End(Ending),
    ReadList,
    ReadOn,
    Ready { first_time: bool },
    Send(String),
    StartDeflate,
    StartTls,
}

impl Setup {
    pub(crate) fn new(settings: Settings) -> Self {
        let Settings { login, start_tls, compress, .. } = settings;
        Self {
            stage: Stage::Greeting,
            login,
            wants_tls: start_tls,
            compression: if compress { Compression::Wanted } else { Compression::Settled },
            is_reader: false,
            wrong_mode: false,
            was_ready: false,
            logins: 0,
            capabilities: Capabilities::default(),
        }
    }

    /// Why nothing that comes now can be part of the conversation: the layer below is being changed.
    pub(crate) fn unexpected(&self) -> Option<Ending> {
        match self.stage {
            Stage::Deflate => {
                let line = "something in the clear".into();
                Some(Ending::Malformed { line, at: Moment::Answer(self.command()) })
            }
            Stage::Handshake => Some(Ending::TlsInjection),
            _ => None,
        }
    }

    pub(crate) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    pub(crate) fn reads_a_list(&self) -> bool {
        self.stage == Stage::CapabilityList
    }

    /// The command whose answer is due, for messages.
    pub(crate) fn command(&self) -> &'static str {
        match self.stage {
            Stage::Greeting => "the connection",
            Stage::Capabilities | Stage::CapabilityList => "CAPABILITIES",
            Stage::ModeReader => "MODE READER",
            Stage::StartTls | Stage::Handshake => "STARTTLS",
            Stage::UserName => "AUTHINFO USER",
            Stage::Password => "AUTHINFO PASS",
            Stage::Compress | Stage::Deflate => "COMPRESS DEFLATE",
            Stage::Done => "nothing",
        }
    }

    pub(crate) fn on_reply(&mut self, reply: Reply) -> Step {
        match (self.stage, reply.code) {
            (Stage::Greeting, 200 | 201) if self.wants_tls => self.ask_capabilities(),
            (Stage::Greeting, 200 | 201) => self.log_in(),
            (Stage::Capabilities, 101) => {
                self.stage = Stage::CapabilityList;
                Step::ReadList
            }
            (Stage::ModeReader, 200 | 201) => {
                self.capabilities = Capabilities::default();
                if self.wants_tls { self.ask_capabilities() } else { self.log_in() }
            }
            // Only that one article wanted another mode.
            (Stage::ModeReader, code) if self.was_ready && code != 400 => self.done(),
            // Servers that do not know the command, or want a login before they answer it.
            (Stage::Capabilities | Stage::ModeReader, code) if !matches!(code, 400 | 502) => {
                self.after_capabilities()
            }
            (Stage::StartTls, 382) => {
                self.stage = Stage::Handshake;
                Step::StartTls
            }
            (Stage::StartTls, _) => Step::End(Ending::StartTlsRefused(reply)),
            (Stage::UserName | Stage::Password, 281) => self.done(),
            (Stage::UserName, 381) => self.send_password(),
            (Stage::Compress, 206) => {
                self.stage = Stage::Deflate;
                Step::StartDeflate
            }
            // An offer that is taken back costs nothing.
            (Stage::Compress, code) if code != 400 => self.ready(),
            (Stage::UserName, 401 | 500) if !self.is_reader => self.ask_for_reader_mode(),
            _ => self.refused(reply),
        }
    }

    /// A line as it may be shown.
    pub(crate) fn hide(&self, text: &str) -> Box<str> {
        self.login.as_ref().map_or_else(|| text.into(), |login| login.hide(text))
    }

    fn refused(&self, reply: Reply) -> Step {
        let refusal = match self.stage {
            Stage::UserName | Stage::Password => Refusal::classify_login(&reply),
            _ => Refusal::classify(&reply),
        };
        let reply = Reply { text: self.hide(&reply.text), ..reply };
        Step::End(Ending::Refused { refusal, reply })
    }

    /// A line of the capability list; the lone dot ends it.
    pub(crate) fn on_list_line(&mut self, line: &[u8]) -> Step {
        if line == b"." {
            return self.after_capabilities();
        }
        if self.capabilities.push(line) {
            return Step::ReadOn;
        }
        let line = "an endless capability list".into();
        Step::End(Ending::Malformed { line, at: Moment::Answer("CAPABILITIES") })
    }

    /// What was said in the clear counts for nothing now (RFC 4642, section 2.2.2).
    pub(crate) fn on_tls_started(&mut self) -> Step {
        self.wants_tls = false;
        self.is_reader = false;
        self.ask_capabilities()
    }

    pub(crate) fn on_deflate_started(&mut self) -> Step {
        self.ready()
    }

    pub(crate) fn has_login(&self) -> bool {
        self.login.is_some()
    }

    pub(crate) fn may_log_in_again(&self) -> bool {
        self.login.is_some() && self.logins < MOST_LOGINS
    }

    /// A request was answered with 401; whether that can be helped.
    pub(crate) fn on_wrong_mode(&mut self) -> bool {
        self.wrong_mode |= !self.is_reader;
        self.wrong_mode
    }

    /// The server wants another mode, or a login, before it goes on.
    pub(crate) fn set_up_again(&mut self) -> Step {
        if std::mem::take(&mut self.wrong_mode) {
            return self.ask_for_reader_mode();
        }
        self.log_in()
    }

    fn ask_for_reader_mode(&mut self) -> Step {
        self.is_reader = true;
        self.logins = 0; // another program answers from now on
        self.send(Stage::ModeReader, "MODE READER".to_owned())
    }

    fn ask_capabilities(&mut self) -> Step {
        self.capabilities = Capabilities::default();
        self.send(Stage::Capabilities, "CAPABILITIES".to_owned())
    }

    fn after_capabilities(&mut self) -> Step {
        if !self.is_reader && self.capabilities.needs_mode_reader() {
            return self.ask_for_reader_mode();
        }
        if self.compression == Compression::Asked {
            return self.compress();
        }
        if !self.wants_tls {
            return self.log_in();
        }
        let unknown = self.capabilities == Capabilities::default();
        if unknown || self.capabilities.has("STARTTLS") {
            return self.send(Stage::StartTls, "STARTTLS".to_owned());
        }
        // Never a fall back to plain text: someone in between may have cut the word out.
        Step::End(Ending::StartTlsMissing)
    }

    fn log_in(&mut self) -> Step {
        let Some(login) = &self.login else { return self.done() };
        let command = format!("AUTHINFO USER {}", login.name());
        self.logins += 1;
        self.send(Stage::UserName, command)
    }

    fn send_password(&mut self) -> Step {
        let Some(login) = &self.login else { return self.done() };
        let command = format!("AUTHINFO PASS {}", login.password().reveal());
        self.send(Stage::Password, command)
    }

    /// The login decides what else is offered, so that is asked only now.
    fn done(&mut self) -> Step {
        if self.compression == Compression::Settled {
            return self.ready();
        }
        self.compression = Compression::Asked;
        self.ask_capabilities()
    }

    fn compress(&mut self) -> Step {
        self.compression = Compression::Settled;
        if self.capabilities.has_argument("COMPRESS", "DEFLATE") {
            return self.send(Stage::Compress, "COMPRESS DEFLATE".to_owned());
        }
        self.ready()
    }

    fn ready(&mut self) -> Step {
        self.stage = Stage::Done;
        Step::Ready { first_time: !std::mem::replace(&mut self.was_ready, true) }
    }

    fn send(&mut self, stage: Stage, mut command: String) -> Step {
        self.stage = stage;
        command.push_str("\r\n");
        Step::Send(command)
    }
}

/// The first login, and one more when the server forgets it mid-way; then it is a loop.
const MOST_LOGINS: u8 = 2;
