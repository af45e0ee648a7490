// Everything is there before the text begins.
#pragma once
