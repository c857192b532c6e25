// SPDX-License-Identifier: Apache-2.0
//
// Computes y = a * x + y a hundred times, in Rust. The needed functions of <weir/c.h> are declared by hand.
//   rustc -O saxpy.rs -L FOLDER_OF_LIBWEIR_C -C link-arg=-Wl,-rpath,FOLDER_OF_LIBWEIR_C
use std::ffi::CStr;
use std::mem::size_of;
use std::os::raw::{c_char, c_void};
use std::ptr::{addr_of_mut, null, null_mut};
use std::sync::mpsc;

macro_rules! handles { ($($name:ident)*) => { $(#[repr(C)] struct $name { _private: [u8; 0] })* } }
handles!(Device Stream Module Kernel Allocation Graph GraphExec);

#[repr(C)]
#[derive(Default)]
struct LaunchConfig {
    struct_size: usize,
    grid: [u32; 3],
    block: [u32; 3],
    shared_memory_bytes: u32,
    flags: u32,
}

type Callback = unsafe extern "C" fn(*mut c_void);

#[link(name = "weir_c")]
extern "C" {
    fn weir_last_error_message() -> *const c_char;
    fn weir_device_get_default(device: *mut *mut Device) -> u32;
    fn weir_device_describe(device: *const Device) -> *const c_char;
    fn weir_stream_create(device: *mut Device, options: *const c_void, stream: *mut *mut Stream) -> u32;
    fn weir_stream_release(stream: *mut Stream);
    fn weir_stream_fill(stream: *mut Stream, to: *mut c_void, value: u32, element_size: usize, count: usize) -> u32;
    fn weir_stream_copy(stream: *mut Stream, to: *mut c_void, from: *const c_void, bytes: usize) -> u32;
    fn weir_stream_read(stream: *mut Stream, to: *mut c_void, from: *const c_void, bytes: usize) -> u32;
    fn weir_stream_launch_host_function(
        stream: *mut Stream, function: Option<Callback>, destroy: Option<Callback>, user_data: *mut c_void) -> u32;
    fn weir_stream_begin_capture(stream: *mut Stream, mode: u32) -> u32;
    fn weir_stream_end_capture(stream: *mut Stream, graph: *mut *mut Graph) -> u32;
    fn weir_graph_instantiate(graph: *const Graph, flags: u32, exec: *mut *mut GraphExec) -> u32;
    fn weir_graph_release(graph: *mut Graph);
    fn weir_graph_exec_launch(exec: *mut GraphExec, stream: *mut Stream) -> u32;
    fn weir_graph_exec_release(exec: *mut GraphExec);
    fn weir_module_compile(
        device: *mut Device, source: *const c_char, options: *const c_void, module: *mut *mut Module) -> u32;
    fn weir_module_get_kernel(module: *mut Module, name: *const c_char, kernel: *mut *mut Kernel) -> u32;
    fn weir_module_release(module: *mut Module);
    fn weir_kernel_release(kernel: *mut Kernel);
    fn weir_grid_for(count: usize, block_threads: u32, config: *mut LaunchConfig) -> u32;
    fn weir_stream_launch(
        stream: *mut Stream, kernel: *mut Kernel, config: *const LaunchConfig, arguments: *const *mut c_void,
        sizes: *const usize, count: usize) -> u32;
    fn weir_allocation_create(device: *mut Device, bytes: usize, kind: u32, allocation: *mut *mut Allocation) -> u32;
    fn weir_allocation_data(allocation: *const Allocation) -> *mut c_void;
    fn weir_allocation_release(allocation: *mut Allocation);
}

const INVALID_ARGUMENT: u32 = 1;
const THREAD_LOCAL: u32 = 1;
const STEPS: usize = 100;
const N: usize = 1 << 20;

const SOURCE: &[u8] = b"
extern \"C\" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}\0";

/// Returns the message of this thread's last failure.
fn message() -> String {
    unsafe { CStr::from_ptr(weir_last_error_message()) }.to_string_lossy().into_owned()
}

/// Returns the object that a call makes, or the call's error message.
fn made<T>(call: impl FnOnce(*mut *mut T) -> u32) -> Result<*mut T, String> {
    let mut object = null_mut();
    done(call(&mut object)).map(|()| object)
}

fn done(result: u32) -> Result<(), String> {
    if result == 0 { Ok(()) } else { Err(message()) }
}

/// Launches a closure as a host function. The closure is called once, and dropped even if it is never called.
fn launch_host_function<F: FnOnce() + Send>(stream: *mut Stream, function: F) -> Result<(), String> {
    unsafe extern "C" fn call<F: FnOnce()>(data: *mut c_void) {
        if let Some(function) = (*data.cast::<Option<F>>()).take() {
            function();
        }
    }
    unsafe extern "C" fn destroy<F>(data: *mut c_void) {
        drop(Box::from_raw(data.cast::<Option<F>>()));
    }
    let data = Box::into_raw(Box::new(Some(function)));
    done(unsafe { weir_stream_launch_host_function(stream, Some(call::<F>), Some(destroy::<F>), data.cast()) })
}

fn main() -> Result<(), String> {
    unsafe {
        let device = made(|d| weir_device_get_default(d))?;
        let stream = made(|s| weir_stream_create(device, null(), s))?;
        let module = made(|m| weir_module_compile(device, SOURCE.as_ptr().cast(), null(), m))?;
        let saxpy = made(|k| weir_module_get_kernel(module, b"saxpy\0".as_ptr().cast(), k))?;
        let bytes = N * size_of::<f32>();
        let x_memory = made(|a| weir_allocation_create(device, bytes, 0, a))?;
        let y_memory = made(|a| weir_allocation_create(device, bytes, 0, a))?;
        let mut x = weir_allocation_data(x_memory);
        let mut y = weir_allocation_data(y_memory);
        let ones = vec![1f32; N];
        done(weir_stream_copy(stream, x, ones.as_ptr().cast(), bytes))?;
        done(weir_stream_fill(stream, y, 0, 4, N))?;

        let (mut n, mut a) = (N as u32, 0.5f32);
        let arguments: [*mut c_void; 4] =
            [addr_of_mut!(n).cast(), addr_of_mut!(a).cast(), addr_of_mut!(x).cast(), addr_of_mut!(y).cast()];
        let sizes = [4, 4, size_of::<*mut f32>(), size_of::<*mut f32>()];
        let mut config = LaunchConfig { struct_size: size_of::<LaunchConfig>(), ..Default::default() };
        done(weir_grid_for(N, 256, &mut config))?;
        done(weir_stream_begin_capture(stream, THREAD_LOCAL))?;
        done(weir_stream_launch(stream, saxpy, &config, arguments.as_ptr(), sizes.as_ptr(), 4))?;
        let graph = made(|g| weir_stream_end_capture(stream, g))?;
        let exec = made(|e| weir_graph_instantiate(graph, 0, e))?;
        for _ in 0..STEPS {
            done(weir_graph_exec_launch(exec, stream))?;
        }
        let (sender, receiver) = mpsc::channel();
        launch_host_function(stream, move || sender.send(STEPS).unwrap())?;
        println!("the graph has run {} times", receiver.recv().unwrap());

        let mut result = vec![0f32; N];
        done(weir_stream_read(stream, result.as_mut_ptr().cast(), y, bytes))?;
        assert!(result.iter().all(|value| *value == 50.0));
        let name = CStr::from_ptr(weir_device_describe(device)).to_string_lossy();
        println!("{STEPS} steps on {name}: every element is {}", result[0]);

        // An invalid call fails with a message.
        assert_eq!(weir_stream_launch(stream, saxpy, &config, arguments.as_ptr(), sizes.as_ptr(), 3), INVALID_ARGUMENT);
        println!("{}", message());

        weir_stream_release(stream);
        weir_graph_exec_release(exec);
        weir_graph_release(graph);
        weir_kernel_release(saxpy);
        weir_module_release(module);
        weir_allocation_release(x_memory);
        weir_allocation_release(y_memory);
    }
    Ok(())
}
