//! A socket with TLS, whose records are decrypted where they were read.
//!
//! The stream of `tokio-rustls` reads 4 KiB at a time and copies every byte twice more. Here rustls
//! works on the bytes in the thread's read buffer, and only a record cut by the end of a read is
//! kept until its rest comes.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

#[derive(Debug)]
pub(crate) struct Secured {
    socket: TcpStream,
    tls: Tls,
    held: Vec<u8>,  // the beginning of a record
    early: Vec<u8>, // what the server said along with its last handshake message
}

/// The conversation with the peer's TLS, and what is to be sent to it.
struct Tls {
    connection: UnbufferedClientConnection,
    outgoing: Vec<u8>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.connection.protocol_version();
        f.debug_struct("Tls").field("version", &version).finish_non_exhaustive()
    }
}

enum Stage {
    Handshake,
    Open,
    Closed,
}

impl Secured {
    pub(crate) async fn shake_hands(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        socket: TcpStream,
    ) -> io::Result<Self> {
        let connection = UnbufferedClientConnection::new(config, name).map_err(broken)?;
        let tls = Tls { connection, outgoing: Vec::new() };
        let mut secured = Self { socket, tls, held: Vec::new(), early: Vec::new() };
        let result = secured.finish_handshake().await;
        if result.is_err() {
            // The peer is owed the reason, if it still listens.
            secured.tls.say_why();
            let _ = secured.socket.write_all(&secured.tls.outgoing).await;
        }
        result.map(|()| secured)
    }

    async fn finish_handshake(&mut self) -> io::Result<()> {
        loop {
            let Self { tls, held, early, .. } = self;
            let (used, stage) =
                tls.process(held, &mut Vec::new(), |bytes| early.extend_from_slice(bytes))?;
            held.drain(..used);
            self.socket.write_all(&self.tls.outgoing).await?;
            self.tls.outgoing.clear();
            match stage {
                Stage::Open => return Ok(()),
                Stage::Closed => return Err(io::ErrorKind::UnexpectedEof.into()),
                Stage::Handshake if self.held.len() > LONGEST_HANDSHAKE => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "an endless handshake"));
                }
                Stage::Handshake => {}
            }
            if self.socket.read_buf(&mut self.held).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Encrypts all of `out` and sends what can be sent.
    pub(crate) fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        if !out.is_empty() {
            // With nothing to read there is nothing to hand on.
            self.tls.process(&mut [], out, |_| {})?;
        }
        send(&mut self.socket, context, &mut self.tls.outgoing)
    }

    /// Reads at most `most` bytes and hands on what they say; 0 bytes are the end.
    pub(crate) fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut [u8],
        most: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Poll<io::Result<usize>> {
        if !self.early.is_empty() {
            let early = std::mem::take(&mut self.early);
            take(&early);
            return Poll::Ready(Ok(early.len()));
        }
        let held = self.held.len();
        let (front, free) = scratch.split_at_mut(held);
        let room = free.len().min(most);
        let mut buffer = ReadBuf::new(&mut free[..room]);
        ready!(Pin::new(&mut self.socket).poll_read(context, &mut buffer))?;
        let count = buffer.filled().len();
        if count == 0 {
            return Poll::Ready(Ok(0));
        }
        front.copy_from_slice(&self.held);
        let incoming = &mut scratch[..held + count];
        let (used, stage) = self.tls.process(incoming, &mut Vec::new(), take)?;
        self.held.clear();
        self.held.extend_from_slice(&incoming[used..]);
        if self.held.len() > LONGEST_HANDSHAKE {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "no TLS record")));
        }
        Poll::Ready(Ok(if matches!(stage, Stage::Closed) { 0 } else { count }))
    }

    /// Tells the peer that this is the end.
    pub(crate) async fn close(&mut self) -> io::Result<()> {
        self.tls.say_goodbye();
        self.socket.write_all(&self.tls.outgoing).await?;
        self.socket.shutdown().await
    }
}

impl Tls {
    /// Goes through the records of `incoming` and encrypts `out`, if that is possible yet. Says how
    /// many bytes of `incoming` are done with.
    fn process(
        &mut self,
        incoming: &mut [u8],
        out: &mut Vec<u8>,
        mut take: impl FnMut(&[u8]),
    ) -> io::Result<(usize, Stage)> {
        let Self { connection, outgoing } = self;
        let (mut used, mut closed) = (0, false);
        loop {
            let UnbufferedStatus { discard, state } =
                connection.process_tls_records(&mut incoming[used..]);
            used += discard;
            let stage = match state.map_err(broken)? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(broken)?;
                        used += record.discard;
                        take(record.payload);
                    }
                    continue;
                }
                ConnectionState::EncodeTlsData(mut data) => {
                    append(outgoing, |room| data.encode(room), size_to_encode)?;
                    continue;
                }
                ConnectionState::TransmitTlsData(sent) => {
                    sent.done(); // whatever is outgoing is sent before anything else
                    continue;
                }
                ConnectionState::PeerClosed => {
                    closed = true;
                    continue;
                }
                ConnectionState::WriteTraffic(mut traffic) => {
                    if !out.is_empty() {
                        append(outgoing, |room| traffic.encrypt(out, room), size_to_encrypt)?;
                        out.clear();
                    }
                    Stage::Open
                }
                ConnectionState::BlockedHandshake => Stage::Handshake,
                _ => Stage::Closed,
            };
            return Ok((used, if closed { Stage::Closed } else { stage }));
        }
    }

    /// Takes up the alert that a failed handshake leaves behind.
    fn say_why(&mut self) {
        let Self { connection, outgoing } = self;
        while let Ok(ConnectionState::EncodeTlsData(mut data)) =
            connection.process_tls_records(&mut []).state
        {
            if append(outgoing, |room| data.encode(room), size_to_encode).is_err() {
                return;
            }
        }
    }

    fn say_goodbye(&mut self) {
        let Self { connection, outgoing } = self;
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) =
            connection.process_tls_records(&mut []).state
        {
            // Without this alert the end is only less polite.
            let _ = append(outgoing, |room| traffic.queue_close_notify(room), size_to_encrypt);
        }
    }
}

/// Sends from the front of `bytes` what the socket takes.
pub(crate) fn send(
    socket: &mut TcpStream,
    context: &mut Context<'_>,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match Pin::new(&mut *socket).poll_write(context, bytes) {
            Poll::Pending => break,
            Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
            Poll::Ready(sent) => drop(bytes.drain(..sent?)),
        }
    }
    Ok(())
}

/// Lets `write` write behind what is there, once it has said how much room it needs.
fn append<E: std::error::Error + Send + Sync + 'static>(
    bytes: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, E>,
    required: impl Fn(&E) -> Option<usize>,
) -> io::Result<()> {
    let end = bytes.len();
    let written = match write(&mut []) {
        Ok(written) => written,
        Err(error) => {
            let room = required(&error).ok_or_else(|| io::Error::other(error))?;
            bytes.resize(end + room, 0);
            write(&mut bytes[end..]).map_err(io::Error::other)?
        }
    };
    bytes.truncate(end + written);
    Ok(())
}

fn size_to_encode(error: &EncodeError) -> Option<usize> {
    match error {
        EncodeError::InsufficientSize(size) => Some(size.required_size),
        EncodeError::AlreadyEncoded => None,
    }
}

fn size_to_encrypt(error: &EncryptError) -> Option<usize> {
    match error {
        EncryptError::InsufficientSize(size) => Some(size.required_size),
        EncryptError::EncryptExhausted => None,
    }
}

fn broken(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// With its header and all that encryption adds (RFC 8446, section 5.2).
pub(crate) const LONGEST_RECORD: usize = (16 << 10) + 261;

/// Chains of certificates have some KiB; rustls itself takes messages of up to 64 KiB.
const LONGEST_HANDSHAKE: usize = 128 << 10;
