// Progress of long work: one redrawn line on a terminal, plain lines elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace fact {

class Progress {
  public:
    // `total`: how many units of work there are; 0: unknown.
    Progress(std::string title, int total);
    ~Progress();
    void step(std::string_view what);    // one more unit is done
    void status(std::string_view what);  // the same unit is still being worked on
    void finish(std::string_view summary);

  private:
    void draw(std::string_view what);
    std::string title_;
    int done_ = 0, total_ = 0;
    bool terminal_ = false, finished_ = false;
    double started_ = 0, last_ = 0;  // seconds; last_: of the latest drawing
};

}  // namespace fact
