#pragma once

// What a test says to the driver that is none (fake_driver.cpp) and hears from it.
//
// Environment variables, read when the driver is opened: FAKE_DRIVER_INIT, the status of cuInit;
// FAKE_DRIVER_DEVICES, how many there are; FAKE_DRIVER_HIDE, the functions it has not, by commas;
// FAKE_DRIVER_STUB, to behave as the stub of the toolkit.
extern "C" {
/// Lets the next call of a function return a status instead of doing anything.
void fake_driver_fail_next(const char* function, int status);
/// The calls since the last time, one a line: `cuMemFree(4096)`.
const char* fake_driver_take_calls();
/// How many of `library`, `module`, `link`, `stream`, `event`, `memory`,
/// `array`, `texture`, `surface` exist.
int fake_driver_live(const char* kind);
}
