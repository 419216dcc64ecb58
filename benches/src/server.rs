//! A news server that costs as little as one can: it shares the cores with those it serves.
//!
//! Everything it says about articles was prepared in memory; a thread for each connection hands it
//! to the kernel from there. It runs in a process of its own, so that no contestant pays for it.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::dialogue::Answer;
use crate::payload::{Payload, Shape};
use crate::tls;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[arg(long)]
    pub(crate) files: usize,
    #[arg(long)]
    pub(crate) file_size: u64,
    /// Answers leave this long after their command came; only without TLS.
    #[arg(long, default_value_t = 0)]
    pub(crate) delay_ms: u64,
    /// Where the plan and the NZBs go.
    #[arg(long)]
    pub(crate) folder: PathBuf,
}

/// Prepares everything, tells the ports on standard output, and serves until standard input ends.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let shape = Shape { files: options.files, file_size: options.file_size };
    let payload = Arc::new(Payload::new(shape));
    payload.plan().write(&options.folder.join("plan"))?;
    payload.write_nzbs(&options.folder)?;
    let delay = Duration::from_millis(options.delay_ms);
    let plain = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let secure = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{} {}", plain.local_addr()?.port(), secure.local_addr()?.port());
    let config = tls::server_config()?;
    let articles = payload.clone();
    thread::spawn(move || {
        listen(&plain, move |stream| match delay {
            Duration::ZERO => converse(stream, &articles),
            delay => converse_from_afar(stream, &articles, delay),
        });
    });
    thread::spawn(move || {
        listen(&secure, move |stream| converse(secured(stream, config.clone())?, &payload));
    });
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn listen<F>(listener: &TcpListener, serve: F)
where
    F: Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static,
{
    let serve = Arc::new(serve);
    for stream in listener.incoming().flatten() {
        let serve = serve.clone();
        let work = move || {
            // Clients may hang up whenever they like.
            let _ = stream.set_nodelay(true);
            let _ = serve(stream);
        };
        thread::Builder::new().stack_size(STACK).spawn(work).expect("threads are at hand");
    }
}

fn secured(
    stream: TcpStream,
    config: Arc<ServerConfig>,
) -> io::Result<StreamOwned<ServerConnection, TcpStream>> {
    let mut connection = ServerConnection::new(config).map_err(io::Error::other)?;
    connection.set_buffer_limit(Some(TLS_BUFFER));
    Ok(StreamOwned::new(connection, stream))
}

fn converse(mut stream: impl Read + Write, payload: &Payload) -> io::Result<()> {
    send(&mut stream, &Answer::greeting())?;
    let mut input = Input::default();
    loop {
        while let Some(command) = input.line() {
            let answer = Answer::to(command, payload);
            send(&mut stream, &answer)?;
            if answer.last {
                return Ok(());
            }
        }
        input.fill(&mut stream)?;
    }
}

/// Each command is answered one round trip after it came, however many are under way.
fn converse_from_afar(mut stream: TcpStream, payload: &Payload, delay: Duration) -> io::Result<()> {
    let (sender, receiver) = mpsc::sync_channel::<(Instant, Vec<u8>)>(MOST_COMMANDS);
    let mut source = stream.try_clone()?;
    thread::Builder::new().stack_size(STACK).spawn(move || {
        let mut input = Input::default();
        while input.fill(&mut source).is_ok() {
            let now = Instant::now();
            while let Some(command) = input.line() {
                if sender.send((now, command.to_vec())).is_err() {
                    return;
                }
            }
        }
    })?;
    thread::sleep(delay);
    send(&mut stream, &Answer::greeting())?;
    for (came, command) in receiver {
        thread::sleep((came + delay).saturating_duration_since(Instant::now()));
        let answer = Answer::to(&command, payload);
        send(&mut stream, &answer)?;
        if answer.last {
            break;
        }
    }
    // The other half reads from the same socket and ends with it.
    stream.shutdown(std::net::Shutdown::Both)
}

fn send(stream: &mut impl Write, answer: &Answer<'_>) -> io::Result<()> {
    if answer.head.is_empty() {
        stream.write_all(answer.body)?;
        return stream.flush();
    }
    let pieces = [IoSlice::new(&answer.head), IoSlice::new(answer.body)];
    let sent = stream.write_vectored(&pieces)?;
    let in_body = sent.saturating_sub(answer.head.len());
    stream.write_all(answer.head.get(sent..).unwrap_or_default())?;
    stream.write_all(&answer.body[in_body..])?;
    stream.flush()
}

/// Commands as they come, several at a time or in pieces.
#[derive(Debug)]
struct Input {
    buffer: Box<[u8; COMMANDS]>,
    start: usize,
    end: usize,
}

impl Default for Input {
    fn default() -> Self {
        Self { buffer: Box::new([0; COMMANDS]), start: 0, end: 0 }
    }
}

impl Input {
    /// Reads once; the end of the stream is an error.
    fn fill(&mut self, source: &mut impl Read) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        match source.read(&mut self.buffer[self.end..])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.end += count;
                Ok(())
            }
        }
    }

    fn line(&mut self) -> Option<&[u8]> {
        let rest = &self.buffer[self.start..self.end];
        let length = rest.iter().position(|&byte| byte == b'\n')?;
        self.start += length + 1;
        Some(rest[..length].trim_ascii_end())
    }
}

/// Enough for the deepest pipeline; a command that does not fit ends its connection.
const COMMANDS: usize = 16 << 10;
/// More than any client has under way.
const MOST_COMMANDS: usize = 1024;
/// What is encrypted before it is sent: large enough that calls are few, small enough for a cache.
const TLS_BUFFER: usize = 256 << 10;
/// 500 connections have two of them each.
const STACK: usize = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_may_be_cut_anywhere() {
        let mut input = Input::default();
        let mut seen = Vec::new();
        for piece in ["BODY <a", "@x>\r", "\nSTAT <b@x>\r\nQUIT\r\n"] {
            input.fill(&mut piece.as_bytes()).unwrap();
            while let Some(line) = input.line() {
                seen.push(String::from_utf8(line.to_vec()).unwrap());
            }
        }
        assert_eq!(seen, ["BODY <a@x>", "STAT <b@x>", "QUIT"]);
        assert!(input.fill(&mut [].as_slice()).is_err());
    }
}
