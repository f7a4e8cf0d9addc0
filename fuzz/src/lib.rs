//! How much work a target did, so that it can judge that work grows with its input and no faster. Not time: a count
//! does not change with how busy the machine is.
//!
//! Counted is what the compiler puts in front of each load of the code under test (`trace-loads`, see `run`).

use std::sync::atomic::{AtomicU64, Ordering};

static LOADS: AtomicU64 = AtomicU64::new(0);

/// The targets have one thread.
fn load() {
    LOADS.store(LOADS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

macro_rules! loads {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(_from: *const u8) {
                load();
            }
        )*
    };
}

loads! { __sanitizer_cov_load1 __sanitizer_cov_load2 __sanitizer_cov_load4 __sanitizer_cov_load8 __sanitizer_cov_load16 }

/// What an input may cost: so many loads for each byte of it, and so many at all.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    pub per_byte: u64,
    pub fixed: u64,
}

impl Bound {
    /// Does it, and judges.
    ///
    /// # Panics
    /// If it took more than that.
    pub fn keep<T>(self, bytes: usize, job: impl FnOnce() -> T) -> T {
        let before = LOADS.load(Ordering::Relaxed);
        let given = job();
        let took = LOADS.load(Ordering::Relaxed).wrapping_sub(before);
        let most = self.fixed + self.per_byte * bytes as u64;
        assert!(took <= most, "{took} loads for {bytes} bytes, at most {most} are linear");
        given
    }
}
