//! Which kernels there are, and which this processor can run.

use std::sync::OnceLock;

#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::scalar::Run;
use super::{Decoded, LineState, Stop, swar};
#[cfg(target_arch = "x86_64")]
use super::{avx2::Avx2, avx512::Avx512, ssse3::Ssse3};

/// A way to decode. All give the same answers, at different speeds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kernel {
    /// A byte at a time: the twin of all others.
    Scalar,
    /// Eight bytes in a general register, on every processor.
    Swar,
    /// 16-byte vectors of x86 since 2008.
    Ssse3,
    /// 32-byte vectors of x86 since 2013.
    Avx2,
    /// 64-byte vectors of x86, with the instruction that squeezes out bytes (VBMI2).
    Avx512,
    /// 16-byte vectors of 64-bit ARM.
    Neon,
}

impl Kernel {
    /// The fastest one that this processor has; it is looked for only once.
    pub fn best() -> Self {
        static BEST: OnceLock<Kernel> = OnceLock::new();
        *BEST.get_or_init(|| Self::available().last().unwrap_or(Self::Scalar))
    }

    /// Those that this processor has, the fastest last.
    pub fn available() -> impl Iterator<Item = Self> {
        SLOWEST_FIRST.into_iter().filter(|kernel| kernel.is_available())
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Swar => "SWAR",
            Self::Ssse3 => "SSSE3",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512 VBMI2",
            Self::Neon => "NEON",
        }
    }

    /// [`decode`](super::decode) with this kernel, or with the scalar one on a processor that does
    /// not have it.
    pub fn decode(self, state: &mut LineState, src: &[u8], dst: &mut [u8]) -> Decoded {
        let mut run = Run::new(*state, src, dst);
        let stop = self.until_stop(&mut run).unwrap_or_else(|| run.until_stop());
        *state = run.state;
        Decoded { consumed: run.read, written: run.written, stop }
    }

    fn is_available(self) -> bool {
        self.until_stop(&mut Run::new(LineState::Start, &[], &mut [])).is_some()
    }

    /// `None`, and nothing done, if this processor does not have the kernel.
    fn until_stop(self, run: &mut Run<'_>) -> Option<Stop> {
        match self {
            Self::Scalar => Some(run.until_stop()),
            Self::Swar => Some(swar::until_stop(run)),
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => Some(Ssse3::detect()?.until_stop(run)),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Some(Avx2::detect()?.until_stop(run)),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Some(Avx512::detect()?.until_stop(run)),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => Some(Neon::detect()?.until_stop(run)),
            _ => None,
        }
    }
}

const SLOWEST_FIRST: [Kernel; 6] =
    [Kernel::Scalar, Kernel::Swar, Kernel::Ssse3, Kernel::Avx2, Kernel::Avx512, Kernel::Neon];
