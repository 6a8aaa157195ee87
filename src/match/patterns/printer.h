// Prints the discovered patterns as a table for people.
#pragma once

#include <string>

#include "match/patterns/pattern.h"

namespace fact::match {

std::string print(const Discovery& discovery);

}  // namespace fact::match
