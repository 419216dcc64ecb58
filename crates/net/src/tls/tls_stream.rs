//! [`TlsStream`]: a socket with TLS whose records are decrypted in the read buffer.
//!
//! The stream of `tokio-rustls` reads 4 KiB at a time and copies every byte three times. Here rustls
//! works on the bytes in the thread's read buffer and copies them once, and only a record cut by the
//! end of a read is kept until its rest comes.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::{ClientConfig, ProtocolVersion};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use crate::tls::TlsAgreement;

#[derive(Debug)]
pub(crate) struct TlsStream {
    socket: TcpStream,
    tls: Tls,
    held: Vec<u8>,  // the beginning of a record
    early: Vec<u8>, // what the server said along with its last handshake message
    is_over: bool,  // the server has sent close_notify, or rustls failed
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

impl TlsStream {
    pub(crate) async fn shake_hands(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        socket: TcpStream,
    ) -> io::Result<Self> {
        let connection = UnbufferedClientConnection::new(config, name).map_err(broken)?;
        let tls = Tls { connection, outgoing: Vec::new() };
        let mut secured = Self { socket, tls, held: Vec::new(), early: Vec::new(), is_over: false };
        secured.finish_handshake().await?;
        Ok(secured)
    }

    /// What was agreed on in the handshake.
    pub(crate) fn agreement(&self) -> Option<TlsAgreement> {
        let connection = &self.tls.connection;
        let version = match connection.protocol_version()? {
            ProtocolVersion::TLSv1_2 => "TLS 1.2".to_owned(),
            ProtocolVersion::TLSv1_3 => "TLS 1.3".to_owned(),
            other => format!("{other:?}"),
        };
        let suite = connection.negotiated_cipher_suite()?.suite();
        Some(TlsAgreement { version, cipher: format!("{suite:?}") })
    }

    async fn finish_handshake(&mut self) -> io::Result<()> {
        loop {
            let Self { tls, held, early, .. } = self;
            let (used, stage) =
                tls.process(held, &mut Vec::new(), |bytes| early.extend_from_slice(bytes));
            held.drain(..used);
            let stage = stage?;
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
            self.held.reserve(USUAL_HANDSHAKE);
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
            // What is held is no whole record, so there is nothing to hand on.
            let (used, stage) = self.tls.process(&mut self.held, out, |_| {});
            self.held.drain(..used);
            self.is_over |= stage.is_err();
            stage?;
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
        if self.is_over {
            return Poll::Ready(Ok(0));
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
        let (used, stage) = self.tls.process(incoming, &mut Vec::new(), take);
        self.held.clear();
        self.held.extend_from_slice(&incoming[used..]);
        self.is_over = !matches!(stage, Ok(Stage::Open));
        stage?;
        if self.held.len() > LONGEST_HANDSHAKE {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "no TLS record")));
        }
        Poll::Ready(Ok(count))
    }

    /// Tells the peer that this is the end.
    pub(crate) async fn close(&mut self) -> io::Result<()> {
        if !self.is_over {
            self.tls.quit(&mut self.held);
            self.socket.write_all(&self.tls.outgoing).await?;
        }
        self.socket.shutdown().await
    }
}

impl Tls {
    /// Goes through the records of `incoming` and encrypts `out`, if that is possible yet. Says how
    /// many bytes of `incoming` are done with; the rest has to come again, with more behind it.
    ///
    /// rustls remembers where in `incoming` the parts of a long message lie, so what was not done
    /// with must be there on every call, also when there is only something to send. After an error
    /// it must not be called again, not even for the alert that tells the peer why.
    fn process(
        &mut self,
        incoming: &mut [u8],
        out: &mut Vec<u8>,
        mut take: impl FnMut(&[u8]),
    ) -> (usize, io::Result<Stage>) {
        let (mut used, mut closed) = (0, false);
        loop {
            let UnbufferedStatus { discard, state } =
                self.connection.process_tls_records(&mut incoming[used..]);
            used += discard;
            let stage = match state {
                Ok(ConnectionState::PeerClosed) => {
                    closed = true;
                    Ok(None)
                }
                Ok(state) => advance(state, &mut used, &mut self.outgoing, out, &mut take),
                Err(error) => Err(broken(error)),
            };
            match stage {
                Ok(None) => {}
                Ok(Some(_)) if closed => return (used, Ok(Stage::Closed)),
                Ok(Some(stage)) => return (used, Ok(stage)),
                Err(error) => return (used, Err(error)),
            }
        }
    }

    fn quit(&mut self, incoming: &mut [u8]) {
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) =
            self.connection.process_tls_records(incoming).state
        {
            // Without this alert the end is only less polite.
            let close = |room: &mut [u8]| traffic.queue_close_notify(room);
            let _ = append(&mut self.outgoing, close, size_to_encrypt);
        }
    }
}

/// Does what one state asks for; the stage, once there is nothing more to do.
fn advance(
    state: ConnectionState<'_, '_, ClientConnectionData>,
    used: &mut usize,
    outgoing: &mut Vec<u8>,
    out: &mut Vec<u8>,
    take: &mut impl FnMut(&[u8]),
) -> io::Result<Option<Stage>> {
    match state {
        ConnectionState::ReadTraffic(mut traffic) => {
            while let Some(record) = traffic.next_record() {
                let record = record.map_err(broken)?;
                *used += record.discard;
                take(record.payload);
            }
            Ok(None)
        }
        ConnectionState::EncodeTlsData(mut data) => {
            append(outgoing, |room| data.encode(room), size_to_encode)?;
            Ok(None)
        }
        ConnectionState::TransmitTlsData(sent) => {
            sent.done(); // whatever is outgoing is sent before anything else
            Ok(None)
        }
        ConnectionState::WriteTraffic(mut traffic) => {
            if !out.is_empty() {
                append(outgoing, |room| traffic.encrypt(out, room), size_to_encrypt)?;
                out.clear();
            }
            Ok(Some(Stage::Open))
        }
        ConnectionState::BlockedHandshake => Ok(Some(Stage::Handshake)),
        _ => Ok(Some(Stage::Closed)),
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

/// What a server says first, in one read.
const USUAL_HANDSHAKE: usize = 8 << 10;

/// Chains of certificates have some KiB; rustls itself takes messages of up to 64 KiB.
const LONGEST_HANDSHAKE: usize = 128 << 10;

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use rustls::pki_types::PrivatePkcs8KeyDer;
    use rustls::{RootCertStore, ServerConfig, ServerConnection, Stream};

    use super::*;
    use crate::socket::link::Link;

    /// Sends what it is given in pieces that are cut anywhere.
    struct SmallWrites(std::net::TcpStream, usize);

    impl Write for SmallWrites {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            for piece in bytes.chunks(self.1) {
                self.0.write_all(piece)?;
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.flush()
        }
    }

    impl Read for SmallWrites {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.0.read(bytes)
        }
    }

    fn configs() -> (Arc<ClientConfig>, Arc<ServerConfig>) {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).unwrap();
        let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let server = ServerConfig::builder().with_no_client_auth();
        let server = server.with_single_cert(vec![cert.der().clone()], key.into()).unwrap();
        (Arc::new(client), Arc::new(server))
    }

    /// Sends a greeting, reads one line, sends a long answer and closes.
    fn serve(listener: TcpListener, config: Arc<ServerConfig>, size: usize, answer: Vec<u8>) {
        let (socket, _) = listener.accept().unwrap();
        socket.set_nodelay(true).unwrap();
        let (mut connection, mut pieces) =
            (ServerConnection::new(config).unwrap(), SmallWrites(socket, size));
        let mut stream = Stream::new(&mut connection, &mut pieces);
        stream.write_all(b"hello\n").unwrap();
        let mut line = [0; 6];
        stream.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"thanks");
        stream.write_all(&answer).unwrap();
        connection.send_close_notify();
        connection.complete_io(&mut pieces).unwrap();
    }

    #[tokio::test]
    async fn records_cut_anywhere_are_put_together_and_the_end_is_seen() {
        for size in [1, 7, 1000, 40_000] {
            let (client, server) = configs();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let answer: Vec<u8> = (0..50_000_u32).map(|n| (n / 7) as u8).collect();
            let wanted = [b"hello\n".to_vec(), answer.clone()].concat();
            let serving = thread::spawn(move || serve(listener, server, size, answer));
            let socket = TcpStream::connect(address).await.unwrap();
            let name = ServerName::try_from("localhost").unwrap();
            let secured = TlsStream::shake_hands(client, name, socket).await.unwrap();
            let mut link = Link::Tls(Box::new(secured));
            // Something to send while the server's tickets are still coming.
            let (mut out, mut heard) = (b"thanks".to_vec(), Vec::<u8>::new());
            loop {
                let count = poll_fn(|context| {
                    link.poll_exchange(context, &mut out, 3000, |bytes| heard.extend(bytes))
                });
                if count.await.unwrap() == 0 {
                    break;
                }
            }
            assert!(heard == wanted, "{} bytes in pieces of {size}", heard.len());
            link.close().await;
            serving.join().unwrap();
        }
    }
}
